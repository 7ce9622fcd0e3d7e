internal import DeviceInterface
internal import Secrets
internal import Vocabulary

/// The phone as seen by an app whose process may die.
///
/// Calls made after that have no effect; all others are passed to the wrapped device.
struct CrashingDevice: DeviceWrapper {
    let wrapped: any Device
    private let process: SimulatedProcess

    init(_ device: any Device, _ process: SimulatedProcess) {
        self.wrapped = device
        self.process = process
    }

    var hasNetwork: Bool { self.wrapped.hasNetwork && !self.process.isDead }
    var keychain: any Keychain { CrashingKeychain(self.wrapped.keychain, self.process) }

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

    /// Returns the wrapped device.
    ///
    /// Throws if the process is dead.
    private func alive() throws(DeviceError) -> any Device {
        guard !self.process.isDead else { throw .storage("the process has died") }
        return self.wrapped
    }
}

/// A keychain whose app process may die right before a change.
private struct CrashingKeychain: Keychain {
    private let keychain: any Keychain
    private let process: SimulatedProcess

    init(_ keychain: any Keychain, _ process: SimulatedProcess) {
        self.keychain = keychain
        self.process = process
    }

    func names() throws(KeychainError) -> [String] { try self.keychain.names() }

    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        guard self.process.survivesWrite() else { throw .storage("the process has died") }
        try self.keychain.add(secret, as: name, access: access)
    }

    func read(
        _ name: String,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> SecretBytes {
        guard !self.process.isDead else { throw .storage("the process has died") }
        return try await self.keychain.read(name, prompt, presentation)
    }

    func remove(_ name: String) throws(KeychainError) {
        guard self.process.survivesWrite() else { throw .storage("the process has died") }
        try self.keychain.remove(name)
    }
}
