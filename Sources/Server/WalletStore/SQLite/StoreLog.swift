internal import HostSystem
import Vocabulary

/// Reads SQLite's write-ahead log (SQLite file format, 4) without SQLite, before SQLite opens the store.
///
/// SQLite treats the first frame that does not match its checksum as the end of the log and forgets all later commits.
/// That is right for the last transaction, which may have been torn by a crash. Nothing else can be torn, because each
/// commit is synced before the next one begins. If a later commit is intact, the log was damaged by the disk or an
/// attacker.
struct StoreLog {
    /// The contents of the requested page after the first commit that wrote it, or nil if it is not in the log.
    private(set) var firstPage: [UInt8]?
    /// The last committed contents of the requested page, or nil if it is not in the log.
    private(set) var page: [UInt8]?
    /// The number of the first damaged frame, counting from 1, or 0 for the header; nil if the log is sound or only its
    /// end is torn.
    private(set) var damage: Int?

    private static let headerByteCount = 32
    private static let frameHeaderByteCount = 24
    private static let magic: UInt32 = 0x377F_0682

    /// Reads a log.
    ///
    /// A missing or empty log is sound.
    ///
    /// - Parameters:
    ///   - pageSize: The page size of the database.
    ///   - wanted: The page whose committed contents to keep.
    init(reading path: String, pageSize: Int, wanted: UInt32) throws(FileError) {
        guard pageSize > 0, let file = try AppendFile.ifPresent(reading: path) else { return }
        let header = try file.read(at: 0, atMost: Self.headerByteCount)
        // A log shorter than its header has never contained a commit.
        guard header.count == Self.headerByteCount else { return }
        var scan = Scan(header: header, pageSize: pageSize, wanted: wanted)
        let frameByteCount = Self.frameHeaderByteCount + pageSize
        var offset = Self.headerByteCount
        while scan.damage == nil {
            let frame = try file.read(at: offset, atMost: frameByteCount)
            guard frame.count == frameByteCount else { break }
            scan.take(frame)
            offset += frameByteCount
        }
        (self.firstPage, self.page, self.damage) = (scan.firstPage, scan.committedPage, scan.damage)
    }

    /// The state while reading a log.
    private struct Scan {
        let pageSize: Int
        let wanted: UInt32
        let isBigEndian: Bool
        let isHeaderGood: Bool
        let headerSalt: UInt64
        /// The salt of frames that belong to the current use of the log.
        ///
        /// Frames from earlier uses have other salts.
        var salt: UInt64
        /// The checksum stored in the previous frame, which the next frame's checksum builds on.
        var previous: LogChecksum
        var previousCommits = false
        /// The number of frames read.
        var count = 0
        /// The first frame that does not match.
        ///
        /// SQLite reads no further.
        var firstBad: Int?
        /// Whether the first bad frame or a later one commits a transaction.
        var hasLostCommit = false
        var pendingPage: [UInt8]?
        var committedPage: [UInt8]?
        var firstPage: [UInt8]?
        var damage: Int?

        init(header: [UInt8], pageSize: Int, wanted: UInt32) {
            self.pageSize = pageSize
            self.wanted = wanted
            let magic = header.number(at: 0)
            self.isBigEndian = magic & 1 == 1
            var sum = LogChecksum()
            sum.add(header[..<24], isBigEndian: self.isBigEndian)
            self.previous = LogChecksum(first: header.number(at: 24), second: header.number(at: 28))
            self.isHeaderGood =
                magic & ~1 == StoreLog.magic && header.number(at: 8) == UInt32(pageSize) && sum == self.previous
            self.headerSalt = header.salt(at: 16)
            self.salt = self.headerSalt
            if !self.isHeaderGood { self.firstBad = 0 }
        }

        /// Reads the next frame: page number, database size after a commit or 0, salts, checksum, page.
        mutating func take(_ frame: [UInt8]) {
            self.count += 1
            let salt = frame.salt(at: 8)
            // The header's salts may be the damaged part.
            if self.count == 1, !self.isHeaderGood { self.salt = salt }
            let stored = LogChecksum(first: frame.number(at: 16), second: frame.number(at: 20))
            var sum = self.previous
            sum.add(frame[..<8], isBigEndian: self.isBigEndian)
            sum.add(frame[StoreLog.frameHeaderByteCount...], isBigEndian: self.isBigEndian)
            let isOfThisUse = salt == self.salt
            let isIntact = isOfThisUse && sum == stored
            let commits = isOfThisUse && frame.number(at: 4) != 0
            if self.firstBad == nil, isIntact {
                self.note(frame, commits: commits)
            } else if isOfThisUse {
                let bad = self.firstBad ?? self.count
                self.firstBad = bad
                self.judge(isIntact: isIntact, commits: commits, bad: bad)
                self.hasLostCommit = self.hasLostCommit || commits
            } else {
                self.firstBad = self.firstBad ?? self.count
            }
            (self.previous, self.previousCommits) = (stored, commits)
        }

        /// Determines whether a frame after the first bad one proves that the bad one was synced.
        private mutating func judge(isIntact: Bool, commits: Bool, bad: Int) {
            guard isIntact else { return }
            // The header is synced before the first frame is written.
            let followsHeader = self.count == 1 && self.salt == self.headerSalt
            // A transaction begins only after the previous one was synced.
            let followsCommit = self.hasLostCommit && (commits || self.previousCommits)
            if followsHeader || followsCommit { self.damage = bad }
        }

        private mutating func note(_ frame: [UInt8], commits: Bool) {
            if frame.number(at: 0) == self.wanted { self.pendingPage = Array(frame[StoreLog.frameHeaderByteCount...]) }
            guard commits else { return }
            self.committedPage = self.pendingPage ?? self.committedPage
            self.firstPage = self.firstPage ?? self.committedPage
        }
    }
}

extension [UInt8] {
    /// Returns the big-endian number in the four bytes at `offset`.
    fileprivate func number(at offset: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: self[offset..<(offset + 4)].bigEndian)
    }

    /// Returns the two salts at `offset`.
    fileprivate func salt(at offset: Int) -> UInt64 { self[offset..<(offset + 8)].bigEndian }
}

/// The checksum used in SQLite's write-ahead log (SQLite file format, 4.2).
///
/// It depends on every bit and on the order of the bytes, but offers no protection against an attacker.
struct LogChecksum: Hashable {
    var first: UInt32 = 0
    var second: UInt32 = 0

    /// Adds bytes to the checksum, read as pairs of 32-bit words.
    ///
    /// - Precondition: The number of bytes is a multiple of 8.
    mutating func add(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) {
        precondition(bytes.count.isMultiple(of: 8), "the checksum takes pairs of words")
        for index in stride(from: bytes.startIndex, to: bytes.endIndex, by: 8) {
            let left = Self.word(bytes, index, isBigEndian)
            let right = Self.word(bytes, index + 4, isBigEndian)
            self.first = self.first &+ left &+ self.second
            self.second = self.second &+ right &+ self.first
        }
    }

    private static func word(_ bytes: ArraySlice<UInt8>, _ index: Int, _ isBigEndian: Bool) -> UInt32 {
        let word =
            UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]) << 16
            | UInt32(bytes[index + 3]) << 24
        return isBigEndian ? word.byteSwapped : word
    }
}
