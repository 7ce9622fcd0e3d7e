internal import DeviceInterface
internal import Secrets
internal import Vocabulary

/// The phone of an app whose process may die: what a dead process asks for does not happen.
///
/// Everything else is the device's own.
struct MortalDevice: DeviceWrapper {
    let wrapped: any Device
    private let fate: MortalDisk.Fate

    init(_ device: any Device, _ fate: MortalDisk.Fate) {
        self.wrapped = device
        self.fate = fate
    }

    var hasNetwork: Bool { self.wrapped.hasNetwork && !self.fate.isDead }
    var keychain: any Keychain { MortalKeychain(self.wrapped.keychain, self.fate) }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        try await self.alive().authenticate(prompt, presentation)
    }

    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        try await self.alive().createKey(challenge: challenge)
    }

    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        try await self.alive().prove(statement: statement)
    }

    func deleteKey() async throws(DeviceError) {
        try await self.alive().deleteKey()
    }

    /// The device, as long as the process lives.
    private func alive() throws(DeviceError) -> any Device {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        return self.wrapped
    }
}

/// The keychain of an app whose process may die right before a change of it.
private struct MortalKeychain: Keychain {
    private let keychain: any Keychain
    private let fate: MortalDisk.Fate

    init(_ keychain: any Keychain, _ fate: MortalDisk.Fate) {
        self.keychain = keychain
        self.fate = fate
    }

    func names() throws(KeychainError) -> [String] { try self.keychain.names() }

    func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError) {
        guard self.fate.outlivesWrite() else { throw .storage("the process has died") }
        try self.keychain.add(secret, as: name, access: access)
    }

    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        return try await self.keychain.read(name, prompt, presentation)
    }

    func remove(_ name: String) throws(KeychainError) {
        guard self.fate.outlivesWrite() else { throw .storage("the process has died") }
        try self.keychain.remove(name)
    }
}
