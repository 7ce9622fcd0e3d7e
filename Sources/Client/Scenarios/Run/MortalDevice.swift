internal import Devices
internal import Presence
internal import Secrets
internal import Vocabulary

/// The phone of an app whose process may die: what a dead process asks for does not happen.
///
/// Everything else is the device's own.
struct MortalDevice: Device {
    private let device: any Device
    private let fate: MortalDisk.Fate

    init(_ device: any Device, _ fate: MortalDisk.Fate) {
        self.device = device
        self.fate = fate
    }

    var platform: Platform { self.device.platform }
    var osVersion: String { self.device.osVersion }
    var model: String { self.device.model }
    var isRooted: Bool { self.device.isRooted }
    var hasNetwork: Bool { self.device.hasNetwork && !self.fate.isDead }
    var appID: String { self.device.appID }
    var appVersion: String { self.device.appVersion }
    var hasKey: Bool { self.device.hasKey }
    var biometrics: BiometricSupport { self.device.biometrics }
    var hasPasscode: Bool { self.device.hasPasscode }
    var answersPrompts: Bool { self.device.answersPrompts }
    var keychain: any Keychain { MortalKeychain(self.device.keychain, self.fate) }

    func authenticate(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        return try await self.device.authenticate(prompt, presentation)
    }

    func createKey(challenge: SHA256Digest) async throws(DeviceError) -> DeviceEvidence {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        return try await self.device.createKey(challenge: challenge)
    }

    func prove(statement: [UInt8]) async throws(DeviceError) -> [UInt8] {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        return try await self.device.prove(statement: statement)
    }

    func deleteKey() async throws(DeviceError) {
        guard !self.fate.isDead else { throw .storage("the process has died") }
        try await self.device.deleteKey()
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
