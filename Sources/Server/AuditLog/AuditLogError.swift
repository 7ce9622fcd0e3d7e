package import HostSystem

/// Why an entry was not added, or a log not opened.
package enum AuditLogError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing was added; the same again once there is room, or the file can be used.
    case file(FileError)
    /// The vault did not answer; again later.
    case vault
    /// The entry would be longer than one is read; nothing was added.
    case tooLong(byteCount: Int)
    /// The server is stopping; nothing was added.
    case closed
    /// Another process appends to it: stop that one.
    case inUse(String)
    /// It is not as it was written: look at it, and move it away to begin another.
    case damaged(String, AuditProblem)
    /// Log and store are not of the same epoch: one of them is an older copy. Restore the store, or find the log.
    case otherEpoch(String, log: Int, store: Int)

    package var description: String {
        switch self {
        case .file(let error): error.description
        case .vault: "the vault did not answer"
        case .tooLong(let count): "an entry of \(count) bytes would be too long to be read again"
        case .closed: "the server is stopping"
        case .inUse(let path): "\(path) is in use by another process"
        case .damaged(let path, let problem): "\(path) is not as it was written: \(problem); \(Self.nextStep)"
        case .otherEpoch(let path, let log, let store) where log > store:
            "\(path) tells of epoch \(log) and the store is of epoch \(store): an older store was put in its place; "
                + "restore a backup with `remote-pin-server restore`. Where this store is the one to keep, after a restore "
                + "that was a mistake, copy it with `remote-pin-server backup FILE`, move the data folder away, and restore "
                + "FILE"
        case .otherEpoch(let path, let log, let store):
            "\(path) ends in epoch \(log) and the store is of epoch \(store): the log was cut or changed, or is an older "
                + "copy; \(Self.nextStep)"
        }
    }

    private static let nextStep =
        "`remote-pin-server admin audit verify` says where it is intact to, docs/administration.md how to go on"
}
