internal import DeviceInterface
internal import SimulatedPhone

/// A simulated phone on which a person answers the prompts that the sensor would otherwise match.
///
/// If the sensor is set to behave differently, or there is a biometric hook, prompts are still answered by those.
struct ManualPromptDevice: DeviceWrapper {
    let wrapped: any Device
    private let simulated: SimulatedDevice
    private let isHooked: Bool

    /// - Parameters:
    ///   - device: The phone, with its hooks, if any.
    ///   - isHooked: Whether a program answers the prompts.
    init(_ device: any Device, of simulated: SimulatedDevice, isHooked: Bool) {
        self.wrapped = device
        self.simulated = simulated
        self.isHooked = isHooked
    }

    var answersPrompts: Bool {
        self.isHooked || (self.wrapped.answersPrompts && self.simulated.profile.sensor != .match)
    }
}
