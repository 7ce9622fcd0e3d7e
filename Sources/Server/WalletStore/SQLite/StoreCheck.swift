internal import HostSystem
import Vocabulary

/// The check that a store has every commit that was synced, made before SQLite opens it and changes its files.
///
/// Invariant (G4): a counted attempt is never forgotten silently. The last transaction may be torn, since its callers
/// get their answers after its sync. Everything else that is missing shows in the log (``StoreLog``) or by the mark
/// (``StoreMark``).
struct StoreCheck {
    /// The first version whose stores have a mark.
    private static let firstVersion = 14

    private let version: Int
    let mark: StoreMark.Content?
    /// The length of the log, or nil if there is none.
    let logByteCount: Int?
    private let log: StoreLog
    /// The page with the generation, or nil if the mark names none.
    private let page: [UInt8]?

    /// Rejects a store that lacks commits; creates the mark of a sound store that has none.
    static func run(_ path: String) throws(StoreOpenError) {
        guard try Self.look(path).mark == nil else { return }
        do throws(FileError) { try StoreMark.create(of: path) } catch { throw StoreOpenError(error) }
    }

    /// Rejects a store that lacks commits; changes nothing.
    @discardableResult
    static func look(_ path: String) throws(StoreOpenError) -> StoreCheck {
        let check: StoreCheck
        do throws(FileError) { check = try StoreCheck(path) } catch { throw StoreOpenError(error) }
        if let damage = check.damage { throw .damaged(damage) }
        return check
    }

    private init(_ path: String) throws(FileError) {
        let (store, logPath) = (try AppendFile(reading: path), path + "-wal")
        let head = StoreFile.Head(try store.read(at: 0, atMost: StoreFile.Head.byteCount))
        self.version = head.version
        self.mark = try StoreMark.read(of: path)
        let page = self.mark?.page ?? 0
        let hasLog = DurableFile.exists(logPath)
        self.logByteCount = hasLog ? try AppendFile(reading: logPath).byteCount() : nil
        self.log = try StoreLog(reading: logPath, pageSize: head.pageSize, wanted: page)
        if page == 0 {
            self.page = nil
        } else if let latest = self.log.page {
            self.page = latest
        } else {
            self.page = try store.read(at: (Int(page) - 1) * head.pageSize, atMost: head.pageSize)
        }
    }

    private var damage: StoreDamage? {
        guard let mark else {
            let hasCommits = self.version >= Self.firstVersion && self.logByteCount ?? 0 > 0
            return hasCommits ? .markMissing : self.log.damage.map { .log(frame: $0) }
        }
        if mark.isInUse, self.logByteCount == nil { return .logMissing }
        if let frame = self.log.damage { return .log(frame: frame) }
        guard let page else { return nil }
        guard let last = Self.generation(in: page) else { return .generation }
        return last < mark.generation ? .behind(last: last, mark: mark.generation) : nil
    }

    /// The generation in the only row of the table `generation`, read from its page (SQLite file format, 1.6 and 2.1).
    static func generation(in page: [UInt8]) -> UInt64? {
        // A leaf of a table with one cell.
        guard page.count >= 512, page[0] == 13, page[3] == 0, page[4] == 1 else { return nil }
        let cell = Int(page[8..<10].bigEndian)
        // Length, row 1, a header of 4 bytes: NULL in place of the row's number, the generation's length, another one.
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
            // Sign-extended.
            return UInt64(exactly: Int64(bitPattern: value << UInt64(64 - 8 * count)) >> Int64(64 - 8 * count))
        default: return nil
        }
    }
}
