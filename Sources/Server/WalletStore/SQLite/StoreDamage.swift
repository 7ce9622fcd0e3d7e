/// Evidence that a store lacks synced commits.
package enum StoreDamage: Hashable, Sendable, CustomStringConvertible {
    /// A frame of the write-ahead log does not match its checksum although commits follow it.
    ///
    /// Frame 0 is the log header.
    case log(frame: Int)
    /// The server was not shut down cleanly, and the write-ahead log is gone.
    case logMissing
    /// The mark is missing or damaged.
    case markMissing
    /// The last commit is older than the one named in the mark.
    case behind(last: UInt64, mark: UInt64)
    /// The database file lacks commits that it had before its write-ahead log was started over.
    case olderDatabase(last: UInt64, first: UInt64)
    /// The number of the last commit cannot be read.
    case generation

    package var description: String {
        switch self {
        case .log(0): "the header of its write-ahead log is damaged, and commits follow it"
        case .log(let frame): "frame \(frame) of its write-ahead log is damaged, and commits follow it"
        case .logMissing: "the server was not stopped in order, and its write-ahead log wallets.db-wal is gone"
        case .markMissing:
            "its mark wallets.db-mark, which names the last commit, is missing or damaged: put it back if it was moved"
        case .behind(let last, let mark):
            "its last commit is number \(last), but commit \(mark) was synced: its write-ahead log was damaged or cut, "
                + "or an older copy was put in its place"
        case .olderDatabase(let last, let first):
            "wallets.db ends with commit \(last), but its write-ahead log begins with commit \(first): an older copy "
                + "of wallets.db was put in its place"
        case .generation: "the number of its last commit cannot be read"
        }
    }
}
