internal import FoundationEssentials
public import HostSystem

/// Why a wallet's own files cannot be used; none of them was changed.
public enum StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Tell the person; the file is named.
    case file(FileError)
    /// The file does not read as it was written: only deleting the wallet helps.
    case notAsWritten(LocalFile)
    /// A newer version of the app wrote it: use that one.
    case newerVersion(LocalFile, version: Int)

    public var description: String {
        switch self {
        case .file(let error): "\(error)"
        case .notAsWritten(let file): "\(file.rawValue) does not read as it was written"
        case .newerVersion(let file, let version): "\(file.rawValue) was written by a newer version (form \(version))"
        }
    }
}

/// The wallet's files as values.
///
/// Not shared: whoever drives the wallet owns it.
final class LocalStore {
    private let disk: any LocalDisk
    /// What `state.json` says now; changed only by ``save(_:)``.
    private(set) var state: LocalState
    private(set) var serverState: CachedServerState

    /// Reads everything, and removes access data whose registration is gone: a wipe that was cut short.
    init(_ disk: any LocalDisk) throws(StorageError) {
        self.disk = disk
        self.state = LocalState()
        self.serverState = CachedServerState()
        if let bytes = try Self.read(.state, from: disk) {
            let version = Self.decode(Version.self, bytes)?.version
            if let version, version > LocalState.currentVersion { throw .newerVersion(.state, version: version) }
            guard let state = Self.decode(LocalState.self, bytes) else { throw .notAsWritten(.state) }
            self.state = state
        }
        if let bytes = try Self.read(.serverState, from: disk) {
            // They prove nothing, and the next answer replaces them.
            self.serverState = Self.decode(CachedServerState.self, bytes) ?? CachedServerState()
        }
        if self.state.registration == nil { try self.removeAccessData() }
    }

    /// Replaces the state; when this throws the old one still stands.
    func save(_ state: LocalState) throws(StorageError) {
        var state = state
        state.version = state.neededVersion
        guard state != self.state else { return }
        try self.write(state)
        self.state = state
    }

    /// Writes the present state once more: afterwards the disk certainly holds it.
    ///
    /// A write that failed may still have reached the disk. Before anything is removed that only another state names,
    /// this one is made certain.
    func confirm() throws(StorageError) { try self.write(self.state) }

    private func write(_ state: LocalState) throws(StorageError) {
        do throws(FileError) {
            if state.isEmpty {
                try self.disk.remove(.state)
            } else {
                try self.disk.write(Self.encode(state), to: .state)
            }
        } catch {
            throw .file(error)
        }
    }

    /// Changes the state as `change` says and saves it.
    func change(_ change: (inout LocalState) -> Void) throws(StorageError) {
        var state = self.state
        change(&state)
        try self.save(state)
    }

    /// Remembers what the server said.
    ///
    /// A failure costs no more than the memory of it.
    func remember(_ change: (inout CachedServerState) -> Void) {
        var words = self.serverState
        change(&words)
        guard words != self.serverState else { return }
        self.serverState = words
        try? self.disk.write(Self.encode(words), to: .serverState)
    }

    func accessData() throws(StorageError) -> [UInt8]? { try Self.read(.accessData, from: self.disk) }

    func saveAccessData(_ sealed: [UInt8]) throws(StorageError) {
        do throws(FileError) {
            try self.disk.write(sealed, to: .accessData)
        } catch {
            throw .file(error)
        }
    }

    func removeAccessData() throws(StorageError) {
        do throws(FileError) {
            try self.disk.remove(.accessData)
        } catch {
            throw .file(error)
        }
    }

    /// Forgets what the server said of a wallet that is gone.
    func forgetServerState() {
        self.serverState = CachedServerState()
        try? self.disk.remove(.serverState)
    }

    private struct Version: Codable {
        var version: Int
    }

    private static func read(_ file: LocalFile, from disk: any LocalDisk) throws(StorageError) -> [UInt8]? {
        do throws(FileError) {
            return try disk.read(file)
        } catch {
            throw .file(error)
        }
    }

    private static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }

    private static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(value) else { preconditionFailure("a state of plain values encodes") }
        return Array(data)
    }
}
