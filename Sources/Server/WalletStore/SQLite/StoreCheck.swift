internal import HostSystem
internal import SQLiteClient
import Vocabulary

/// Checks that a store has every synced commit, before SQLite opens the store and changes its files.
///
/// Invariant (G4): a counted attempt is never silently forgotten. The last transaction may be torn, because its callers
/// are answered only after its sync. If anything else is missing, the log (``StoreLog``) or the mark (``StoreMark``)
/// shows it.
struct StoreCheck {
    /// Whether the file is empty because the store is being created.
    private let isNew: Bool
    let mark: StoreMark.Content?
    /// The length of the log, or nil if there is none.
    let logByteCount: Int?
    private let log: StoreLog
    /// The generation in the database file itself, without its log; nil if the mark names none, or if it cannot be
    /// read.
    private let own: UInt64?
    /// The generations of the first and the last commit in the log, or nil if it has none that can be read.
    private let logged: (first: UInt64, last: UInt64)?

    /// The generation that SQLite must find in a sound store: the mark's, or the store's if that is later.
    var generation: UInt64 { max(self.mark?.generation ?? 0, self.logged?.last ?? self.own ?? 0) }

    /// Rejects a store that lacks commits, and returns the generation that SQLite must find in it.
    ///
    /// Creates the mark of a new store.
    @discardableResult
    static func run(_ path: String) throws(StoreOpenError) -> UInt64 {
        let check = try Self.look(path)
        if check.mark == nil { try mapError(StoreMark.create(of: path), to: StoreOpenError.init) }
        return check.generation
    }

    /// Rejects a store that lacks commits or has a damaged header, without changing anything.
    @discardableResult
    static func look(_ path: String) throws(StoreOpenError) -> StoreCheck {
        guard let check = try mapError(StoreCheck(path), to: StoreOpenError.init) else { throw .notAStore }
        if let damage = check.damage { throw .damaged(damage) }
        return check
    }

    /// Reads the store's files; returns nil if the page size is damaged.
    private init?(_ path: String) throws(FileError) {
        let (store, logPath) = (try AppendFile(reading: path), path + "-wal")
        let head = StoreFile.Head(try store.read(at: 0, atMost: StoreFile.Head.byteCount))
        guard let pageSize = head.pageSize else { return nil }
        self.isNew = pageSize == 0
        self.mark = try StoreMark.read(at: StoreMark.path(of: path))
        let page = self.mark?.page ?? 0
        self.logByteCount = try AppendFile.ifPresent(reading: logPath)?.byteCount()
        self.log = try StoreLog(reading: logPath, pageSize: pageSize, wanted: page)
        if let first = self.log.firstPage.flatMap({ Self.generation(in: $0) }),
            let last = self.log.page.flatMap({ Self.generation(in: $0) })
        {
            self.logged = (first, last)
        } else {
            self.logged = nil
        }
        if page == 0 {
            self.own = nil
        } else if self.logByteCount ?? 0 == 0 {
            // A program that rewrites a closed store, as VACUUM does, may move the table to another page.
            self.own = Self.generation(ofClosed: path)
        } else {
            self.own = Self.generation(in: try store.read(at: (Int(page) - 1) * pageSize, atMost: pageSize))
        }
    }

    private var damage: StoreDamage? {
        guard let mark else {
            // Every store gets its mark before its first commit and keeps it, also through a restore. Without the
            // mark, a store whose log is gone as well, or an older copy, would look complete.
            return self.isNew && self.logByteCount == nil ? nil : .markMissing
        }
        if mark.isInUse, self.logByteCount == nil { return .logMissing }
        if let frame = self.log.damage { return .log(frame: frame) }
        guard mark.page != 0 else { return nil }
        guard let own, self.logged != nil || self.log.page == nil else { return .generation }
        let (last, synced) = (self.logged?.last ?? own, max(mark.generation, own))
        if last < synced { return .behind(last: last, mark: synced) }
        // SQLite starts the log over only after all its commits are in the database file, and synced. The log's first
        // commit is therefore the next one after a commit in that file, even if the copying was interrupted.
        if let first = self.logged?.first, first > own + 1 { return .olderDatabase(last: own, first: first) }
        return nil
    }

    /// Returns the generation of a store without a log, or nil if it cannot be read.
    private static func generation(ofClosed path: String) -> UInt64? {
        let value = try? SQLiteDatabase(unchanged: path).number("SELECT value FROM generation")
        return value.flatMap { UInt64(exactly: $0) }
    }

    /// Returns the generation from the page containing the only row of the table `generation` (SQLite file format, 1.6
    /// and 2.1).
    static func generation(in page: [UInt8]) -> UInt64? {
        // The page must be a table leaf with a single cell.
        guard page.count >= 512, page[0] == 13, page[3] == 0, page[4] == 1 else { return nil }
        // The cell is at the end of the page. A power failure may leave the new pointer to it with the old cell, or the
        // reverse, if the cell's length changed while the page was copied from the log.
        for cell in [Int(page[8..<10].bigEndian)] + ((page.count - 22)...(page.count - 6)) {
            if let generation = self.generation(in: page, cell: cell) { return generation }
        }
        return nil
    }

    private static func generation(in page: [UInt8], cell: Int) -> UInt64? {
        // Skip the payload length, row id 1, and the four-byte header: its length, NULL in place of the id, and the
        // types of both values.
        let start = cell + 6
        guard start <= page.count, cell + 2 + Int(page[cell]) == page.count, page[cell + 1] == 1, page[cell + 2] == 4,
            page[cell + 3] == 0
        else { return nil }
        let kind = Int(page[cell + 4])
        switch kind {
        case 8: return 0
        case 9: return 1
        case 1...6:
            let count = [1, 2, 3, 4, 6, 8][kind - 1]
            guard start + count <= page.count else { return nil }
            let value = page[start..<(start + count)].bigEndian
            // Sign-extend the value.
            return UInt64(exactly: Int64(bitPattern: value << UInt64(64 - 8 * count)) >> Int64(64 - 8 * count))
        default: return nil
        }
    }
}

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
