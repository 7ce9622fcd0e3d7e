package import HostSystem

/// Reads and writes the header of an SQLite file without using SQLite.
package enum StoreFile {
    /// The kind of a file according to its `PRAGMA application_id`: a store that can be served, or a backup that must
    /// be restored.
    ///
    /// A server does not use a backup that was copied to a store's place, because that would allow fresh guesses.
    package enum Kind: Sendable {
        case store, backup

        var applicationID: Int64 {
            switch self {
            case .store: Schema.applicationID
            case .backup: Schema.backupID
            }
        }
    }

    // Offsets in the header (SQLite file format, 1.3): the magic string, the page size, the two numbers that tell
    // whether the file has a log, `user_version` and `application_id`.
    fileprivate static let headByteCount = 100
    private static let magic = Array("SQLite format 3\0".utf8)
    fileprivate static let pageSizeOffset = 16
    private static let formatOffset = 18
    fileprivate static let versionOffset = 60
    private static let applicationIDOffset = 68

    /// The header fields needed to check a store.
    ///
    /// All are 0 if the file is empty.
    struct Head {
        static let byteCount = StoreFile.headByteCount
        /// The size of a page in bytes, or nil if the header contains none that SQLite uses.
        let pageSize: Int?
        let version: Int

        init(_ bytes: [UInt8]) {
            guard bytes.count == Self.byteCount else {
                (self.pageSize, self.version) = (0, 0)
                return
            }
            let offset = StoreFile.pageSizeOffset
            let number = Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
            // 65,536 does not fit into two bytes, so the header contains 1 instead.
            let size = number == 1 ? 65_536 : number
            self.pageSize = size >= 512 && size.nonzeroBitCount == 1 ? size : nil
            self.version = Int(StoreFile.number(at: StoreFile.versionOffset, in: bytes))
        }
    }

    /// Sets the kind of a file that no process has open and that has no log and needs none.
    package static func mark(_ path: String, as kind: Kind) throws(FileError) {
        let file = try RecordFile(opening: path)
        let id = UInt32(truncatingIfNeeded: kind.applicationID)
        try file.write([1, 1], at: Self.formatOffset)
        try file.write((0..<4).map { UInt8(truncatingIfNeeded: id >> (24 - 8 * $0)) }, at: Self.applicationIDOffset)
        try file.synchronize()
    }

    /// Rejects a file unless it is a store of this version or an earlier one.
    ///
    /// Invariant: a rejected file is not changed. SQLite writes to the header of any database that it opens with a
    /// store's settings, and a backup with a changed header no longer matches its label. The header is therefore read
    /// first.
    ///
    /// While a file is being created, its header may still be in its log, which only SQLite can read (``Schema``).
    static func refuseOthers(
        _ path: String,
        creating: Bool,
        acceptingMoved: Bool = false
    ) throws(StoreOpenError) {
        let head: [UInt8]
        do throws(FileError) {
            head = try AppendFile(reading: path).read(at: 0, atMost: Self.headByteCount)
        } catch {
            if case .notFound = error { throw .missing(path: path) }
            throw StoreOpenError(error)
        }
        if head.isEmpty, creating { return }
        guard head.count == Self.headByteCount, head.starts(with: Self.magic) else { throw .notAStore }
        let (version, known) = (Int(Self.number(at: Self.versionOffset, in: head)), Schema.current.version)
        switch Self.number(at: Self.applicationIDOffset, in: head) {
        case Schema.backupID: throw .backup
        case Schema.movedID where !acceptingMoved: throw .moved
        case Schema.applicationID where version > known, Schema.movedID where version > known:
            throw .newerVersion(found: version, known: known)
        case Schema.applicationID, Schema.movedID: break
        case 0 where version == 0 && (creating || DurableFile.exists(path + "-wal")): break
        default: throw .notAStore
        }
        try Self.refuseJournal(of: path, head)
    }

    /// Rejects a rollback journal beside a store.
    ///
    /// Threat: SQLite would write the journal's pages, which are older, into the store. A store has a write-ahead log
    /// instead, and its header says so once it has been created.
    private static func refuseJournal(of path: String, _ head: [UInt8]) throws(StoreOpenError) {
        let journal = path + "-journal"
        guard head[Self.formatOffset] == 2, DurableFile.isNamed(journal) else { return }
        throw .foreignFile(
            "\(journal): a rollback journal, which no server writes and which would put older pages into the store; "
                + "look for the program that made it, and move it away"
        )
    }

    /// Returns the signed four-byte number at an offset, as reported by both pragmas.
    private static func number(at offset: Int, in head: [UInt8]) -> Int64 {
        Int64(Int32(bitPattern: head[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }))
    }
}
