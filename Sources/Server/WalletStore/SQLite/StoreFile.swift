internal import Foundation
internal import Glibc
package import HostSystem
internal import SQLiteClient

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

extension StoreFile {
    /// Returns the objects in the schema of a file that a store's version does not make, makes otherwise, or misses.
    ///
    /// No process may have the file open, and it must have no log.
    package static func schemaDifferences(in path: String, ofVersion version: Int? = nil) -> [String] {
        let (schema, found) = (Schema.current, StructureCheck.schema(of: path))
        return found.map { schema.differences(in: $0, ofVersion: version ?? schema.version) } ?? [
            "its objects cannot be read"
        ]
    }

    /// Checks the structure of a file that no connection has open, on a low-priority thread.
    ///
    /// Returns SQLite's findings.
    ///
    /// - Important: Never call this for the file of an open store. Closing a second descriptor would release SQLite's
    ///   locks on it (fcntl(2)).
    package static func findings(in path: String) async -> [String] {
        await withCheckedContinuation { waiter in
            let thread = Thread {
                // On Linux, 0 stands for the calling thread (setpriority(2)). The quality-of-service classes of
                // Dispatch queues have no effect there. The lowest priority, 19, would be too low: the store's thread
                // may wait for a lock of SQLite's allocator that this thread holds.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                waiter.resume(returning: StructureCheck.findings(in: path))
            }
            thread.name = "structure check"
            thread.start()
        }
    }
}

/// The state of a store's files, read without changing them, even while a server has them open.
package struct StoreFilesState: Sendable {
    /// The process that has the store open, or nil if there is none.
    package let holder: Int32?
    package let version: Int
    package let byteCount: Int
    /// The length of the write-ahead log, or nil if there is none.
    package let logByteCount: Int?
    /// Whether the last process that opened the store failed to close it.
    package let isLeftOpen: Bool
    /// The number of the last commit, or nil while a process has the store open.
    package let generation: UInt64?

    /// Reads the store files in a folder.
    ///
    /// If a start would reject them, throws the same error. The search for missing commits is skipped while a process
    /// has the store open, because the files change as they are read and that process has already searched them.
    package init(folder: String) throws(StoreOpenError) {
        let path = folder + "/wallets.db"
        self.holder = FileLock.currentHolder(folder + "/lock")
        try StoreFile.refuseOthers(path, creating: false)
        do throws(FileError) {
            let file = try AppendFile(reading: path)
            self.version = StoreFile.Head(try file.read(at: 0, atMost: StoreFile.Head.byteCount)).version
            self.byteCount = try file.byteCount()
            let log = path + "-wal"
            self.logByteCount = try AppendFile.ifPresent(reading: log)?.byteCount()
        } catch {
            throw StoreOpenError(error)
        }
        let check = self.holder == nil ? try StoreCheck.look(path) : nil
        self.isLeftOpen = check?.mark?.isInUse ?? false
        self.generation = check?.generation
    }

    /// Returns the objects in the schema of a store that its version does not make, makes otherwise, or misses.
    ///
    /// No process may have the store open, and it must have no log.
    package static func schemaDifferences(in folder: String, ofVersion version: Int) -> [String] {
        StoreFile.schemaDifferences(in: folder + "/wallets.db", ofVersion: version)
    }

    /// Returns SQLite's findings about the structure of a store, empty if it is sound.
    ///
    /// No process may have the store open, and it must have no log. This takes as long as reading the file.
    package static func structureFindings(in folder: String) -> [String] {
        StructureCheck.findings(in: folder + "/wallets.db")
    }
}
