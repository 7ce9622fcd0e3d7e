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
    /// The page containing the number of the last commit cannot be read.
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
        case .generation: "the page with the number of its last commit is damaged"
        }
    }
}
