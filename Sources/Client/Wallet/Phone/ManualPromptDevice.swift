internal import DeviceInterface
internal import SimulatedPhone

/// A simulated phone in somebody's hand: what its sensor would match by itself, the person decides.
///
/// A sensor that is told to misbehave goes on doing so; everything else is the device's own.
struct ManualPromptDevice: DeviceWrapper {
    let wrapped: any Device
    private let simulated: SimulatedDevice
    private let isHooked: Bool

    /// - Parameters:
    ///   - device: The phone with its hooks, if it has any.
    ///   - isHooked: Whether a program answers its prompts.
    init(_ device: any Device, of simulated: SimulatedDevice, isHooked: Bool) {
        self.wrapped = device
        self.simulated = simulated
        self.isHooked = isHooked
    }

    var answersPrompts: Bool {
        self.isHooked || (self.wrapped.answersPrompts && self.simulated.profile.sensor != .match)
    }
}
