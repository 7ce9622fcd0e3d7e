internal import ConfigText
internal import WalletFlows
internal import FoundationEssentials
internal import HostSystem
internal import Secrets

/// The keychain of a simulated phone, which behaves like a real one.
struct SimulatedKeychain: Keychain {
    let device: SimulatedDevice
    /// The simulated sensor, or a program that replaces it.
    let responder: any PromptResponder

    func names() throws(KeychainError) -> [String] {
        try self.device.withKeychain { (items, _) throws(KeychainError) in items.names }
    }

    func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        try self.device.withKeychain { (items, profile) throws(KeychainError) in
            guard !profile.isScreenLocked else { throw .screenLocked }
            guard profile.canGuard(access.method) else { throw .accessImpossible }
            try items.add(secret, as: name, access: access)
        }
    }

    /// Reads an item after showing a prompt.
    ///
    /// The unlock methods accepted by the prompt depend on the item, not on the caller's prompt, so a passcode never
    /// opens a biometric item.
    func read(_ name: String, _ prompt: Prompt, _ presentation: Presentation) async throws(KeychainError) -> SecretBytes
    {
        let access = try self.device.withKeychain { (items, profile) throws(KeychainError) in
            let access = try items.access(of: name)
            guard !profile.isScreenLocked else { throw .screenLocked }
            return access
        }
        let shown = Prompt(prompt.purpose, accepts: access)
        let result = try await mapError(of: await self.responder.ask(shown, presentation)) { (error: DeviceError) in
            KeychainError.storage("\(error)")
        }
        guard result == .confirmed else { throw .prompt(result) }
        // Check again, because the phone may have been locked or the item replaced while the prompt was open.
        return try self.device.withKeychain { (items, profile) throws(KeychainError) in
            guard !profile.isScreenLocked else { throw .screenLocked }
            guard try items.access(of: name) == access else { throw .prompt(.cancelled) }
            return try items.open(name)
        }
    }

    func remove(_ name: String) throws(KeychainError) {
        try self.device.withKeychain { (items, _) throws(KeychainError) in try items.remove(name) }
    }
}

/// A component of the phone that can answer prompts.
protocol PromptResponder: Sendable {
    /// Shows a prompt.
    ///
    /// Any mismatch is durably counted before this method returns.
    func ask(_ prompt: Prompt, _ presentation: Presentation) async throws(DeviceError) -> PromptResult
}

extension DeviceProfile {
    fileprivate func canGuard(_ access: UnlockMethod) -> Bool {
        switch access {
        case .biometric: self.usableBiometrics.isEnrolled
        case .passcode, .either: self.hasPasscode
        }
    }
}

/// The items in a simulated keychain, stored in the file `keychain` and sealed under `keychain-key`.
///
/// Both files are in the device's folder and therefore not included in backups or copies of the app's folder. Sealing
/// binds each item to its name and access, so that editing the file cannot turn a biometric item into one that can be
/// opened with the passcode.
struct KeychainItems: Sendable {
    private let files: DeviceFiles
    private var items: [String: Item]

    private struct Item: Codable, Sendable {
        var access: String
        /// The sealed secret, encoded as Base64.
        var sealed: String
    }

    /// Reads the file.
    ///
    /// The result is empty if the file does not exist.
    init(_ files: DeviceFiles) throws(KeychainError) {
        self.files = files
        guard let bytes = try mapError(files.read(.keychain), to: KeychainError.init) else {
            self.items = [:]
            return
        }
        guard let items = try? JSONDecoder().decode([String: Item].self, from: Data(bytes)) else {
            throw .storage("\(files.path(.keychain)) is not a keychain file")
        }
        self.items = items
    }

    var names: [String] { self.items.keys.sorted() }

    func access(of name: String) throws(KeychainError) -> UnlockMethod {
        try self.rule(of: name).method
    }

    private func rule(of name: String) throws(KeychainError) -> ItemAccess {
        guard let item = self.items[name] else { throw .notFound }
        guard let access = ItemAccess(name: item.access) else { throw self.broken }
        return access
    }

    /// Durably adds an item.
    mutating func add(_ secret: borrowing SecretBytes, as name: String, access: ItemAccess) throws(KeychainError) {
        guard self.items[name] == nil else { throw .storage("the keychain already has an item named \(name)") }
        let key = try self.existingOrNewKey()
        let sealed = key.seal(secret, associatedData: Self.binding(name, access))
        self.items[name] = Item(access: access.name, sealed: Data(sealed).base64EncodedString())
        try self.write()
    }

    /// Returns an item's secret.
    ///
    /// - Important: Only call this after a prompt has been confirmed.
    func open(_ name: String) throws(KeychainError) -> SecretBytes {
        let access = try self.rule(of: name)
        guard let key = try self.key(), let text = self.items[name]?.sealed, let sealed = Data(base64Encoded: text)
        else { throw self.broken }
        return try mapError(key.open(Array(sealed), associatedData: Self.binding(name, access))) { (_: SealBroken) in
            self.broken
        }
    }

    mutating func remove(_ name: String) throws(KeychainError) {
        guard self.items.removeValue(forKey: name) != nil else { return }
        try self.write()
    }

    /// Removes the items that accept only the biometrics enrolled so far.
    mutating func endEnrolledNow() throws(KeychainError) {
        let ended = self.items.filter { ItemAccess(name: $0.value.access) == .enrolledNow }
        guard !ended.isEmpty else { return }
        for name in ended.keys { self.items[name] = nil }
        try self.write()
    }

    private func write() throws(KeychainError) {
        let text = JSONText.encoded(self.items, isPretty: true)
        try mapError(self.files.write(Array(text.utf8), to: .keychain), to: KeychainError.init)
    }

    private func key() throws(KeychainError) -> SecretBytes? {
        guard var bytes = try mapError(self.files.read(.keychainKey), to: KeychainError.init) else { return nil }
        guard bytes.count == 32 else {
            throw .storage("\(self.files.path(.keychainKey)) is not a keychain key of 32 bytes")
        }
        return SecretBytes(wiping: &bytes)
    }

    /// Returns the key, creating it if necessary.
    ///
    /// A new key is made durable before anything is sealed under it.
    private func existingOrNewKey() throws(KeychainError) -> SecretBytes {
        if let key = try self.key() { return key }
        guard self.items.isEmpty else {
            throw .storage("\(self.files.path(.keychainKey)) is missing; the items of the keychain cannot be opened")
        }
        let key = SecretBytes.random(count: 32)
        let bytes = key.exposedBytes()
        try mapError(self.files.write(bytes, to: .keychainKey), to: KeychainError.init)
        return key
    }

    private static func binding(_ name: String, _ access: ItemAccess) -> [UInt8] {
        Array("remote-pin simulated keychain\n\(access.name)\n\(name)".utf8)
    }

    private var broken: KeychainError { .storage("\(self.files.path(.keychain)) has a damaged item") }
}

extension ItemAccess {
    private static let enrolledNowName = "enrolled-now"

    /// The name in the file.
    fileprivate var name: String {
        switch self {
        case .any(let method): method.rawValue
        case .enrolledNow: Self.enrolledNowName
        }
    }

    fileprivate init?(name: String) {
        if name == Self.enrolledNowName {
            self = .enrolledNow
        } else if let method = UnlockMethod(rawValue: name) {
            self = .any(method)
        } else {
            return nil
        }
    }
}

extension KeychainError {
    fileprivate init(_ error: DeviceError) { self = .storage("\(error)") }
}
