internal import HostSystem
import Vocabulary

/// Checks that a store has every synced commit, before SQLite opens the store and changes its files.
///
/// Invariant (G4): a counted attempt is never silently forgotten. The last transaction may be torn, because its callers
/// are answered only after its sync. If anything else is missing, the log (``StoreLog``) or the mark (``StoreMark``)
/// shows it.
struct StoreCheck {
    /// The first store version that has a mark.
    private static let firstVersion = 14

    private let version: Int
    let mark: StoreMark.Content?
    /// The length of the log, or nil if there is none.
    let logByteCount: Int?
    private let log: StoreLog
    /// The page containing the generation, or nil if the mark does not name one.
    private let page: [UInt8]?

    /// The generation that SQLite must find in a sound store: the mark's, or the store's if that is later.
    var generation: UInt64 {
        max(self.mark?.generation ?? 0, self.page.flatMap { Self.generation(in: $0) } ?? 0)
    }

    /// Rejects a store that lacks commits, and returns the generation that SQLite must find in it.
    ///
    /// Creates the mark of a sound store that has none.
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

    /// Reads the store's files.
    ///
    /// Returns nil if the page size is damaged.
    private init?(_ path: String) throws(FileError) {
        let (store, logPath) = (try AppendFile(reading: path), path + "-wal")
        let head = StoreFile.Head(try store.read(at: 0, atMost: StoreFile.Head.byteCount))
        guard let pageSize = head.pageSize else { return nil }
        self.version = head.version
        self.mark = try StoreMark.read(of: path)
        let page = self.mark?.page ?? 0
        self.logByteCount = try AppendFile.ifPresent(reading: logPath)?.byteCount()
        self.log = try StoreLog(reading: logPath, pageSize: pageSize, wanted: page)
        if page == 0 {
            self.page = nil
        } else if let latest = self.log.page {
            self.page = latest
        } else {
            self.page = try store.read(at: (Int(page) - 1) * pageSize, atMost: pageSize)
        }
    }

    private var damage: StoreDamage? {
        guard let mark else {
            // Every store gets its mark before its first commit and keeps it, also through a restore. Without the
            // mark, a store whose log is gone as well, or an older copy, would look complete.
            return self.version >= Self.firstVersion ? .markMissing : self.log.damage.map { .log(frame: $0) }
        }
        if mark.isInUse, self.logByteCount == nil { return .logMissing }
        if let frame = self.log.damage { return .log(frame: frame) }
        guard let page else { return nil }
        guard let last = Self.generation(in: page) else { return .generation }
        return last < mark.generation ? .behind(last: last, mark: mark.generation) : nil
    }

    /// Returns the generation from the page containing the only row of the table `generation` (SQLite file format, 1.6
    /// and 2.1).
    static func generation(in page: [UInt8]) -> UInt64? {
        // The page must be a table leaf with a single cell.
        guard page.count >= 512, page[0] == 13, page[3] == 0, page[4] == 1 else { return nil }
        let cell = Int(page[8..<10].bigEndian)
        // Skip the payload length, row id 1, and the four-byte header: its length, NULL in place of the id, and the
        // types of both values.
        let start = cell + 6
        guard start <= page.count, page[cell + 1] == 1, page[cell + 2] == 4, page[cell + 3] == 0 else { return nil }
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
