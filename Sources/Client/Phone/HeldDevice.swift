internal import Devices
internal import Presence
internal import Vocabulary

/// A simulated phone in somebody's hand: what its sensor would match by itself, the person decides.
///
/// A sensor that is told to misbehave goes on doing so; everything else is the device's own.
struct HeldDevice: Device {
    private let device: any Device
    private let simulated: SimulatedDevice
    private let isHooked: Bool

    /// - Parameters:
    ///   - device: The phone with its hooks, if it has any.
    ///   - isHooked: Whether a program answers its prompts.
    init(_ device: any Device, of simulated: SimulatedDevice, isHooked: Bool) {
        self.device = device
        self.simulated = simulated
        self.isHooked = isHooked
    }

    var answersPrompts: Bool {
        self.isHooked || (self.device.answersPrompts && self.simulated.profile.sensor != .match)
    }

    var platform: Platform { self.device.platform }
    var osVersion: String { self.device.osVersion }
    var model: String { self.device.model }
    var isRooted: Bool { self.device.isRooted }
    var hasNetwork: Bool { self.device.hasNetwork }
    var appID: String { self.device.appID }
    var appVersion: String { self.device.appVersion }
    var hasKey: Bool { self.device.hasKey }
    var biometrics: BiometricSupport { self.device.biometrics }
    var hasPasscode: Bool { self.device.hasPasscode }
    var keychain: any Keychain { self.device.keychain }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try await self.device.authenticate(prompt, presentation)
    }

    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.device.createKey(challenge: challenge)
    }

    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.device.prove(statement: statement)
    }

    func deleteKey() async throws(DeviceError) {
        try await self.device.deleteKey()
    }
}
