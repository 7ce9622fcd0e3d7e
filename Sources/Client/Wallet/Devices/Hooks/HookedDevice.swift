internal import HostSystem
public import Presence
public import Vocabulary

/// A simulated phone of which programs do a part: whatever no hook stands for is the simulated phone's.
public final class HookedDevice: DeviceWrapper {
    private let device: SimulatedDevice
    private let biometric: BiometricHook?
    private let key: KeyHook?

    public init(_ device: SimulatedDevice, _ hooks: DeviceHooks) {
        self.device = device
        self.biometric = hooks.biometric.map {
            BiometricHook(
                program: HookProgram(kind: .biometric, command: $0),
                device: device,
                report: hooks.report
            )
        }
        self.key = hooks.key.map {
            KeyHook(program: HookProgram(kind: .key, command: $0), device: device, report: hooks.report)
        }
    }

    public var wrapped: any Device { self.device }
    public var hasKey: Bool {
        self.key == nil ? self.device.hasKey : DurableFile.exists(self.device.files.path(.keyHandle))
    }

    public var answersPrompts: Bool { self.biometric != nil || self.device.answersPrompts }
    public var keychain: any Keychain {
        SimulatedKeychain(device: self.device, asking: self.biometric ?? self.device)
    }

    public func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        guard let biometric else { return try await self.device.authenticate(prompt, presentation) }
        return try await biometric.ask(prompt, presentation)
    }

    public func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        guard let key else { return try await self.device.createKey(challenge: challenge) }
        return try await key.create(challenge: challenge)
    }

    public func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard let key else { return try await self.device.prove(statement: statement) }
        return try await key.prove(statement)
    }

    public func deleteKey() async throws(DeviceError) {
        guard let key else { return try await self.device.deleteKey() }
        try await key.delete()
    }
}
