internal import HostSystem
internal import Synchronization

/// Notices that another program moved, replaced, removed or wrote a file of an open store.
///
/// Threat (G4): an older file takes the place of one that this process has open. The commits since go to a file without
/// a name and are gone after the next start. If an older file is written over the open one, SQLite reads older rows.
///
/// Used only on the store's thread.
final class WatchedFiles {
    /// A change by another program.
    struct Change: Error, CustomStringConvertible {
        let description: String
    }

    /// A file as this process left it.
    struct Kept: Sendable {
        let path: String
        let state: FileState
    }

    private let store, log: String
    private let mark: StoreMark
    /// The database, the log and the marks.
    private var states: [Kept]
    /// Whether this process has written to the files since their states were recorded.
    private var isBehind = false

    /// - Parameter opened: The files when the store was opened.
    init(of store: String, mark: StoreMark, _ opened: [Kept]) {
        (self.store, self.log, self.mark) = (store, store + "-wal", mark)
        self.states = opened
    }

    /// Returns the present states of a store's files.
    static func look(at store: String, _ mark: StoreMark) throws(FileError) -> [Kept] {
        var states: [Kept] = []
        for path in [store, store + "-wal"] + mark.paths {
            states.append(Kept(path: path, state: try FileState(of: path)))
        }
        return states
    }

    /// Notes that this process copies the log into the database, or may have left pages of a transaction in the log.
    func noteOwnWrites() { self.isBehind = true }

    /// Records the files if this process has written to them since.
    func acceptOwnWrites() throws(Change) {
        if self.isBehind { try self.accept() }
    }

    /// Throws if another program wrote to the log since the last transaction of this process.
    func requireUnchangedLog() throws(Change) {
        try self.acceptOwnWrites()
        guard let before = self.states.first(where: { $0.path == self.log }) else { return }
        let now = try self.now { () throws(FileError) in try FileState(of: self.log) }
        guard now == before.state else { throw Self.written(self.log) }
    }

    /// Records the files after a transaction of this process.
    ///
    /// Throws if another file has taken the place of one of them, or if another program wrote to the database, to which
    /// this process writes only between transactions.
    func accept() throws(Change) {
        let now = try self.now { () throws(FileError) in try Self.look(at: self.store, self.mark) }
        for (before, file) in zip(self.states, now) {
            guard file.state.isOfSameFile(as: before.state) else {
                throw Change(description: "another file is at \(file.path) than the one that the server has open")
            }
            guard self.isBehind || file.path != self.store || file.state == before.state else {
                throw Self.written(file.path)
            }
        }
        self.states = now
        self.isBehind = false
    }

    private static func written(_ path: String) -> Change {
        Change(description: "another program wrote to \(path), which the server has open")
    }

    private func now<State>(_ look: () throws(FileError) -> State) throws(Change) -> State {
        try mapError(look()) { (error: FileError) in
            Change(description: "\(error), and the server has this file open")
        }
    }
}

/// The lock on a store's folder, held by one process.
///
/// This is a class, because the store's thread releases it before any waiting caller reopens the folder.
final class StoreLock: Sendable {
    private let lock: Mutex<FileLock?>

    init(folder: String, creating: Bool) throws(StoreOpenError) {
        if creating, !DurableFile.exists(folder) {
            try mapError(DurableFile.makeFolder(folder), to: StoreOpenError.init)
        }
        guard DurableFile.isFolder(folder) else { throw .missing(path: folder) }
        do throws(LockError) {
            self.lock = Mutex(try FileLock(folder + "/lock"))
        } catch {
            switch error {
            case .heldBy(let pid): throw .inUse(pid: pid)
            case .file(let error): throw StoreOpenError(error)
            }
        }
    }

    func release() {
        self.lock.withLock { $0 = nil }
    }
}
