package import Vocabulary

/// A device that forwards everything it does not implement itself to another device.
package protocol DeviceWrapper: Device {
    /// The device that calls are forwarded to.
    var wrapped: any Device { get }
}

extension DeviceWrapper {
    package var platform: Platform { self.wrapped.platform }
    package var osVersion: String { self.wrapped.osVersion }
    package var model: String { self.wrapped.model }
    package var isRooted: Bool { self.wrapped.isRooted }
    package var hasNetwork: Bool { self.wrapped.hasNetwork }
    package var appID: String { self.wrapped.appID }
    package var appVersion: String { self.wrapped.appVersion }
    package var uptime: Duration { self.wrapped.uptime }
    package var hasKey: Bool { self.wrapped.hasKey }
    package var biometrics: BiometricSupport { self.wrapped.biometrics }
    package var hasPasscode: Bool { self.wrapped.hasPasscode }
    package var answersPrompts: Bool { self.wrapped.answersPrompts }
    package var keychain: any Keychain { self.wrapped.keychain }

    package func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
    {
        try await self.wrapped.authenticate(prompt, presentation)
    }

    package func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.wrapped.createKey(challenge: challenge)
    }

    package func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.wrapped.prove(statement: statement)
    }

    package func deleteKey() async throws(DeviceError) {
        try await self.wrapped.deleteKey()
    }
}
