internal import FoundationEssentials
internal import Statements
internal import Vocabulary

/// A wallet's files cannot be used.
///
/// None of them has been changed.
public enum StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The storage failed.
    ///
    /// Show the text to the user.
    case file(LocalDiskError)
    /// The file is damaged or was edited.
    ///
    /// The wallet must be deleted.
    case notAsWritten(LocalFile)
    /// The file is missing, but other data depends on it.
    ///
    /// The wallet must be deleted.
    case missing(LocalFile)
    /// The file was written by another version of the app, in this format version.
    ///
    /// Use that version of the app, or delete the wallet.
    case otherVersion(LocalFile, version: Int)

    /// A description for a log or the user.
    public var description: String {
        switch self {
        case .file(let error): "\(error)"
        case .notAsWritten(let file): "\(file.rawValue) is damaged or was edited; delete the wallet to start again"
        case .missing(let file):
            "\(file.rawValue) is missing, but the wallet's data is there; delete the wallet to start again"
        case .otherVersion(let file, let version):
            "\(file.rawValue) was written by another version of the app (format \(version), not "
                + "\(LocalState.currentVersion)); use that version, or delete the wallet to start again"
        }
    }
}

/// The contents of the wallet's files; only used by a single ``WalletEngine``.
final class LocalStore {
    private let disk: any LocalDisk
    /// The contents of `state.json`; only changed by ``save(_:)``.
    private(set) var state: LocalState
    private(set) var serverState: CachedServerState
    private(set) var receipts = ReceiptRecord()

    /// Reads all files.
    ///
    /// Removes access data without a registration, which an interrupted wipe or enrollment leaves behind. Both leave a
    /// state file, too. Throws ``StorageError/missing(_:)`` if access data exists without a state file: the state was
    /// lost, and the wallet must not look as if it had never been set up.
    init(_ disk: any LocalDisk) throws {
        self.disk = disk
        self.state = LocalState()
        self.serverState = CachedServerState()
        if let bytes = try disk.read(.state) {
            self.state = try StateFile(reading: bytes).state
        } else if try disk.read(.accessData) != nil {
            throw StorageError.missing(.state)
        }
        if let bytes = try disk.read(.serverState) {
            // If the file cannot be read, we drop it, since it does not prove anything and will be replaced with the
            // server's next answer.
            self.serverState = Self.decode(CachedServerState.self, bytes) ?? CachedServerState()
        }
        if let bytes = try disk.read(.receipts) {
            // If this is missing, the wallet pins the key again in its next session.
            self.receipts = Self.decode(ReceiptRecord.self, bytes) ?? ReceiptRecord()
        }
        if self.state.registration == nil { try self.removeAccessData() }
    }

    /// Replaces the state.
    ///
    /// If this throws, the old state remains in effect.
    func save(_ state: LocalState) throws {
        guard state != self.state else { return }
        try self.write(state)
        self.state = state
    }

    /// Writes the current state again to make sure that it is on disk.
    ///
    /// A write that failed may still have reached the disk. Call this before removing anything that a different state
    /// might still refer to.
    func confirm() throws { try self.write(self.state) }

    private func write(_ state: LocalState) throws {
        if try state.isEmpty && self.disk.read(.accessData) == nil {
            try self.disk.remove(.state)
        } else {
            try self.disk.write(StateFile(state).bytes, to: .state)
        }
    }

    func change(_ change: (inout LocalState) -> Void) throws {
        var state = self.state
        change(&state)
        try self.save(state)
    }

    /// Caches information from the server.
    ///
    /// If the write fails, only the cache is lost.
    func remember(_ change: (inout CachedServerState) -> Void) {
        var serverState = self.serverState
        change(&serverState)
        guard serverState != self.serverState else { return }
        self.serverState = serverState
        try? self.disk.write(Self.encode(serverState), to: .serverState)
    }

    /// Changes the receipt record.
    ///
    /// If the write fails, the change only lasts until the process ends.
    func changeReceipts(_ change: (inout ReceiptRecord) -> Void) {
        var receipts = self.receipts
        change(&receipts)
        guard receipts != self.receipts else { return }
        self.receipts = receipts
        try? self.disk.write(Self.encode(receipts), to: .receipts)
    }

    /// Changes the record of receipts; if this throws, the old record remains in effect.
    func changeReceiptsDurably(_ change: (inout ReceiptRecord) -> Void) throws {
        var receipts = self.receipts
        change(&receipts)
        try self.disk.write(Self.encode(receipts), to: .receipts)
        self.receipts = receipts
    }

    func accessData() throws -> [UInt8]? { try self.disk.read(.accessData) }

    func saveAccessData(_ sealed: [UInt8]) throws { try self.disk.write(sealed, to: .accessData) }

    /// Removes the access data, and the state if nothing is left in it.
    func removeAccessData() throws {
        try self.disk.remove(.accessData)
        if self.state.isEmpty { try self.disk.remove(.state) }
    }

    /// Removes all files without reading them.
    ///
    /// The state is removed last so that an interrupted call can be repeated.
    static func removeAll(_ disk: any LocalDisk) throws {
        for file in [LocalFile.accessData, .serverState, .receipts, .state] { try disk.remove(file) }
    }

    /// Drops everything cached about a wallet that no longer exists, including its receipts.
    func forgetServerState() {
        self.serverState = CachedServerState()
        self.receipts = ReceiptRecord()
        try? self.disk.remove(.serverState)
        try? self.disk.remove(.receipts)
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }

    static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(value) else { preconditionFailure("a state of plain values encodes") }
        return Array(data)
    }
}

/// The format of `state.json`, which contains the state and a checksum of all its values.
///
/// The checksum detects damage. For example, a flipped bit in a key name could make a wallet look as if it had not been
/// set up. The checksum does not protect against deliberate changes to the file; only the slots and the server do.
struct StateFile: Codable {
    let state: LocalState
    /// Nil only until ``init(_:)`` has computed it.
    private var checksum: SHA256Digest?

    private enum Key: String, CodingKey {
        case checksum
    }

    /// Adds the checksum to a state.
    init(_ state: LocalState) {
        self.state = state
        self.checksum = Self.checksum(of: self.tree)
    }

    /// Reads a file.
    ///
    /// - Throws: ``StorageError/otherVersion(_:version:)``, or ``StorageError/notAsWritten(_:)`` if the file's
    ///   structure, a key or a value is not as the app wrote it.
    init(reading bytes: [UInt8]) throws(StorageError) {
        let data = Data(bytes)
        if let version = (try? JSONDecoder().decode(Version.self, from: data))?.version,
            version != LocalState.currentVersion
        {
            throw .otherVersion(.state, version: version)
        }
        guard let file = try? JSONDecoder().decode(StateFile.self, from: data),
            let tree = try? JSONDecoder().decode(StoredTree.self, from: data), tree == file.tree,
            file.checksum == Self.checksum(of: tree)
        else { throw .notAsWritten(.state) }
        self = file
    }

    init(from decoder: any Decoder) throws {
        self.state = try LocalState(from: decoder)
        self.checksum = try decoder.container(keyedBy: Key.self).decode(SHA256Digest.self, forKey: .checksum)
    }

    func encode(to encoder: any Encoder) throws {
        try self.state.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(self.checksum, forKey: .checksum)
    }

    /// The contents of the file.
    var bytes: [UInt8] { LocalStore.encode(self) }

    private var tree: StoredTree {
        guard let tree = try? JSONDecoder().decode(StoredTree.self, from: Data(self.bytes)) else {
            preconditionFailure("an encoded state decodes")
        }
        return tree
    }

    private static func checksum(of tree: StoredTree) -> SHA256Digest? {
        guard case .object(var fields) = tree else { return nil }
        fields["checksum"] = nil
        return StoredTree.object(fields).digest
    }

    private struct Version: Codable {
        var version: Int
    }
}

/// Any JSON value.
///
/// Used to compare a file with the state that was read from it.
///
/// Decoders ignore unknown keys, so a damaged name would look like a missing value.
enum StoredTree: Hashable, Decodable {
    case object([String: StoredTree])
    case list([StoredTree])
    case text(String)
    case number(Int64)
    case truth(Bool)
    case null

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let truth = try? value.decode(Bool.self) {
            self = .truth(truth)
        } else if let number = try? value.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let list = try? value.decode([StoredTree].self) {
            self = .list(list)
        } else {
            self = .object(try value.decode([String: StoredTree].self))
        }
    }

    /// The SHA-256 digest of the value in a canonical form, with sorted keys and length-prefixed text.
    ///
    /// This makes it independent of how a particular version of the JSON encoder writes the value.
    var digest: SHA256Digest {
        var bytes: [UInt8] = []
        self.add(to: &bytes)
        return .of(bytes)
    }

    private func add(to bytes: inout [UInt8]) {
        switch self {
        case .object(let fields):
            bytes += Array("o\(fields.count):".utf8)
            for (name, value) in fields.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
                StoredTree.text(name).add(to: &bytes)
                value.add(to: &bytes)
            }
        case .list(let values):
            bytes += Array("l\(values.count):".utf8)
            for value in values { value.add(to: &bytes) }
        case .text(let text): bytes += Array("s\(text.utf8.count):\(text)".utf8)
        case .number(let number): bytes += Array("n\(number);".utf8)
        case .truth(let truth): bytes += Array(truth ? "t".utf8 : "f".utf8)
        case .null: bytes += Array("0".utf8)
        }
    }
}
