public import Vocabulary

/// A device that stands before another one: it does what it says itself, and all else is the other one's.
public protocol DeviceWrapper: Device {
    /// The device behind it.
    var wrapped: any Device { get }
}

extension DeviceWrapper {
    public var platform: Platform { self.wrapped.platform }
    public var osVersion: String { self.wrapped.osVersion }
    public var model: String { self.wrapped.model }
    public var isRooted: Bool { self.wrapped.isRooted }
    public var hasNetwork: Bool { self.wrapped.hasNetwork }
    public var appID: String { self.wrapped.appID }
    public var appVersion: String { self.wrapped.appVersion }
    public var hasKey: Bool { self.wrapped.hasKey }
    public var biometrics: BiometricSupport { self.wrapped.biometrics }
    public var hasPasscode: Bool { self.wrapped.hasPasscode }
    public var answersPrompts: Bool { self.wrapped.answersPrompts }
    public var keychain: any Keychain { self.wrapped.keychain }

    public func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try await self.wrapped.authenticate(prompt, presentation)
    }

    public func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.wrapped.createKey(challenge: challenge)
    }

    public func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.wrapped.prove(statement: statement)
    }

    public func deleteKey() async throws(DeviceError) {
        try await self.wrapped.deleteKey()
    }
}
