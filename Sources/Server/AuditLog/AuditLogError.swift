package import HostSystem

/// A reason why an entry was not added or a log was not opened.
package enum AuditLogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The entry was not added.
    ///
    /// Retry once the disk has space or the file can be used.
    case file(FileError)
    /// The entry would be longer than a reader accepts.
    ///
    /// The entry was not added.
    case tooLong(byteCount: Int)
    /// The server is stopping.
    ///
    /// The entry was not added.
    case closed
    /// Another process has the log open.
    ///
    /// Stop that process.
    case inUse(String)
    /// The log was changed.
    ///
    /// Inspect it, then move it away to start a new one.
    case damaged(String, AuditProblem)
    /// The log lacks the entry named by the store, so it was truncated or replaced.
    ///
    /// Put the original log back.
    case lacksEntry(String, AuditProblem)
    /// The epochs of the log and the store differ, so one of them is an older copy.
    ///
    /// Restore the store or put the right log back.
    case otherEpoch(String, log: Int, store: Int)

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .tooLong(let count): "an entry of \(count) bytes exceeds the length that can be read"
        case .closed: "the server is stopping"
        case .inUse(let path): "\(path) is in use by another process"
        case .damaged(let path, let problem): "\(path) was changed: \(problem); \(Self.nextStep)"
        case .lacksEntry(let path, let problem):
            "\(path) lacks an entry that the store names: \(problem). Put the log back. \(Self.withoutTheLog)"
        case .otherEpoch(let path, let log, let store) where log > store:
            "\(path) ends in epoch \(log), but the store has epoch \(store): the store is an older copy; restore a "
                + "backup with `remote-pin-server restore`. If a restore was a mistake and this store is the one to "
                + "keep, copy it with `remote-pin-server backup FILE`, move the data folder away, and restore FILE"
        case .otherEpoch(let path, let log, let store):
            "\(path) ends in epoch \(log), but the store has epoch \(store): the log was cut or changed, or is an "
                + "older copy; \(Self.nextStep)"
        }
    }

    /// Advice for an operator who cannot find the log.
    package static let withoutTheLog =
        "If it is lost, copy the store with `remote-pin-server backup FILE`, move the data folder away, and run "
        + "`remote-pin-server restore FILE`, which opens an epoch"

    private static let nextStep =
        "`remote-pin-server admin audit verify` shows how far it is intact; docs/administration.md has the next steps"
}
