internal import HostSystem
package import DeviceInterface
package import Vocabulary

/// A simulated phone in which programs replace some of the parts.
package final class HookedDevice: DeviceWrapper {
    private let device: SimulatedDevice
    private let biometric: BiometricHook?
    private let key: KeyHook?

    package init(_ device: SimulatedDevice, _ hooks: DeviceHooks) {
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

    package var wrapped: any Device { self.device }
    package var hasKey: Bool {
        self.key == nil ? self.device.hasKey : DurableFile.exists(self.device.files.path(.keyHandle))
    }

    package var answersPrompts: Bool { self.biometric != nil || self.device.answersPrompts }
    package var keychain: any Keychain {
        SimulatedKeychain(device: self.device, responder: self.biometric ?? self.device)
    }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        guard let biometric else { return try await self.device.authenticate(prompt, presentation) }
        return try await biometric.ask(prompt, presentation)
    }

    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        guard let key else { return try await self.device.createKey(challenge: challenge) }
        return try await key.create(challenge: challenge)
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard let key else { return try await self.device.prove(statement: statement) }
        return try await key.prove(statement)
    }

    package func deleteKey() async throws(DeviceError) {
        guard let key else { return try await self.device.deleteKey() }
        try await key.delete()
    }
}
