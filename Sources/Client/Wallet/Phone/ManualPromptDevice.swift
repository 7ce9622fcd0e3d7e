internal import DeviceInterface
internal import SimulatedPhone

/// A simulated phone whose prompts are answered by a person if the sensor would otherwise match.
///
/// A sensor that is set to another behavior, and a biometric hook, still answer prompts.
struct ManualPromptDevice: DeviceWrapper {
    let wrapped: any Device
    private let simulated: SimulatedDevice
    private let isHooked: Bool

    /// - Parameters:
    ///   - device: The phone with its hooks, if it has any.
    ///   - isHooked: True if a program answers its prompts.
    init(_ device: any Device, of simulated: SimulatedDevice, isHooked: Bool) {
        self.wrapped = device
        self.simulated = simulated
        self.isHooked = isHooked
    }

    var answersPrompts: Bool {
        self.isHooked || (self.wrapped.answersPrompts && self.simulated.profile.sensor != .match)
    }
}
