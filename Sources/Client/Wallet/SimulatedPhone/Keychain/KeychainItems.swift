internal import FoundationEssentials
internal import HostSystem
internal import DeviceInterface
internal import Secrets

/// A simulated keychain's items: the file `keychain`, sealed under `keychain-key`.
///
/// Both lie in the device's folder, which no backup and no copy of the app's folder holds. Each item is sealed together
/// with its name and its access, so that an edit of the file cannot turn an item for a biometric into one for a passcode.
struct KeychainItems: Sendable {
    private let files: DeviceFiles
    private var items: [String: Item]

    private struct Item: Codable, Sendable {
        var access: String
        /// Base64.
        var sealed: String
    }

    /// Reads the file; no file is no items.
    init(_ files: DeviceFiles) throws(KeychainError) {
        self.files = files
        guard let bytes = try KeychainError.translating({ () throws(DeviceError) in try files.read(.keychain) }) else {
            self.items = [:]
            return
        }
        guard let items = try? JSONDecoder().decode([String: Item].self, from: Data(bytes)) else {
            throw .storage("\(files.path(.keychain)): not a keychain")
        }
        self.items = items
    }

    var names: [String] { self.items.keys.sorted() }

    /// What opens the item.
    func access(of name: String) throws(KeychainError) -> UnlockMethod {
        guard let item = self.items[name] else { throw .notFound }
        guard let access = UnlockMethod(rawValue: item.access) else { throw self.broken }
        return access
    }

    /// Returns once the item is durable.
    mutating func add(_ secret: borrowing SecretBytes, as name: String, access: UnlockMethod) throws(KeychainError) {
        guard self.items[name] == nil else { throw .storage("the keychain has an item of this name") }
        let key = try self.existingOrNewKey()
        let sealed = key.seal(secret, associatedData: Self.binding(name, access))
        self.items[name] = Item(access: access.rawValue, sealed: Data(sealed).base64EncodedString())
        try self.write()
    }

    /// The item's secret.
    ///
    /// - Important: Only for a caller whose prompt was confirmed.
    func open(_ name: String) throws(KeychainError) -> SecretBytes {
        let access = try self.access(of: name)
        guard let key = try self.key(), let text = self.items[name]?.sealed, let sealed = Data(base64Encoded: text)
        else { throw self.broken }
        do throws(SealBroken) {
            return try key.open(Array(sealed), associatedData: Self.binding(name, access))
        } catch {
            throw self.broken
        }
    }

    /// Forgets the item; nothing happens where there is none.
    mutating func remove(_ name: String) throws(KeychainError) {
        guard self.items.removeValue(forKey: name) != nil else { return }
        try self.write()
    }

    private func write() throws(KeychainError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(self.items) else { throw self.broken }
        try KeychainError.translating { () throws(DeviceError) in try self.files.write(Array(data), to: .keychain) }
    }

    private func key() throws(KeychainError) -> SecretBytes? {
        guard
            var bytes = try KeychainError.translating({ () throws(DeviceError) in try self.files.read(.keychainKey) })
        else { return nil }
        guard bytes.count == 32 else { throw .storage("\(self.files.path(.keychainKey)): not a keychain's key") }
        return SecretBytes(wiping: &bytes)
    }

    /// The key, or a new one that is durable before anything is sealed under it.
    private func existingOrNewKey() throws(KeychainError) -> SecretBytes {
        if let key = try self.key() { return key }
        guard self.items.isEmpty else { throw .storage("\(self.files.path(.keychainKey)): it is gone") }
        let key = SecretBytes.random(count: 32)
        let bytes = key.exposedBytes()
        try KeychainError.translating { () throws(DeviceError) in try self.files.write(bytes, to: .keychainKey) }
        return key
    }

    private static func binding(_ name: String, _ access: UnlockMethod) -> [UInt8] {
        Array("remote-pin simulated keychain\n\(access.rawValue)\n\(name)".utf8)
    }

    private var broken: KeychainError { .storage("\(self.files.path(.keychain)): an item does not open") }
}

extension KeychainError {
    /// The device's storage is the keychain's.
    static func translating<Result: ~Copyable>(
        _ body: () throws(DeviceError) -> Result
    ) throws(KeychainError) -> Result {
        do throws(DeviceError) {
            return try body()
        } catch {
            throw .storage("\(error)")
        }
    }
}
