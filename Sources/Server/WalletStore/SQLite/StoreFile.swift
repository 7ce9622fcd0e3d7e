package import HostSystem

/// What a file of SQLite's says of itself in its head, read and written without SQLite.
package enum StoreFile {
    /// What `PRAGMA application_id` tells: a store that can be served, or a backup, which must be restored.
    ///
    /// So a backup that is put in a store's place by hand is not served: it would hand out fresh guesses.
    package enum Kind: Sendable {
        case store, backup

        var applicationID: Int64 {
            switch self {
            case .store: Schema.applicationID
            case .backup: Schema.backupID
            }
        }
    }

    // Where the head has what (file format, 1.3): its first words, the two numbers that say whether the file has a log,
    // `user_version` and `application_id`.
    private static let headByteCount = 100
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let formatOffset = 18
    private static let versionOffset = 60
    private static let applicationIDOffset = 68

    /// Marks a file that nobody has open; one that has no log beside it, and needs none.
    package static func mark(_ path: String, as kind: Kind) throws(FileError) {
        let file = try RecordFile(opening: path)
        let id = UInt32(truncatingIfNeeded: kind.applicationID)
        try file.write([1, 1], at: Self.formatOffset)
        try file.write((0..<4).map { UInt8(truncatingIfNeeded: id >> (24 - 8 * $0)) }, at: Self.applicationIDOffset)
        try file.synchronize()
    }

    /// Refuses a file that is no store of this version or an earlier one.
    ///
    /// Invariant: what is refused is not changed. SQLite writes to the head of any database that it opens with a store's
    /// settings, and a backup with another head is not what its label names any more. So the head is read before.
    ///
    /// A file that is being made may have all of its head in its log yet: of that SQLite knows more (``Schema``).
    static func refuseOthers(_ path: String, creating: Bool) throws(StoreOpenError) {
        let head: [UInt8]
        do throws(FileError) {
            head = try AppendFile(reading: path).read(at: 0, atMost: Self.headByteCount)
        } catch {
            throw StoreOpenError(error)
        }
        if head.isEmpty, creating { return }
        guard head.count == Self.headByteCount, head.starts(with: Self.magic) else { throw .notAStore }
        let version = Int(Self.number(at: Self.versionOffset, in: head))
        switch Self.number(at: Self.applicationIDOffset, in: head) {
        case Schema.backupID: throw .backup
        case Schema.applicationID where version > Schema.version:
            throw .newerVersion(found: version, known: Schema.version)
        case Schema.applicationID: break
        case 0 where version == 0 && (creating || DurableFile.exists(path + "-wal")): break
        default: throw .notAStore
        }
    }

    /// The signed number of four bytes, as both pragmas have it.
    private static func number(at offset: Int, in head: [UInt8]) -> Int64 {
        Int64(Int32(bitPattern: head[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }))
    }
}
