package import HostSystem
internal import Synchronization
import Vocabulary

/// A file next to the store that contains the number of the last synced commit and whether a process has the store
/// open.
///
/// A server keeps a copy beside its audit log, whose folder may be on another volume. If the data folder is replaced by
/// an older one, the copy names a later commit.
///
/// The mark is written after each commit is synced and before its answers are sent, but it is not synced itself. It
/// therefore survives the end of the process, however it ends. After a power failure, it may name an earlier commit,
/// but never one that the store lacks. If the mark names a later commit than the store's last one, counted attempts
/// were lost.
///
///     0–7     "rPINmark"
///     8       version of the form, 1
///     9       1 while a process has the store open
///     10–11   0
///     12–15   the database page that contains the generation, counting from 1
///     16–23   the generation
///     24–31   the checksum of all the bytes before it
final class StoreMark: Sendable {
    /// The contents of a mark.
    struct Content: Hashable {
        var isInUse = false
        var page: UInt32 = 0
        var generation: UInt64 = 0
    }

    fileprivate static let magic = Array("rPINmark".utf8)
    fileprivate static let form: UInt8 = 1
    fileprivate static let byteCount = 32

    /// Returns the path of the mark for the store at this path.
    static func path(of store: String) -> String { store + "-mark" }

    private let path: String
    private let file: RecordFile
    private let page: UInt32
    /// The copy beside the audit log, while a server serves the store.
    private let copy = Mutex<(path: String, file: RecordFile)?>(nil)

    /// The paths of the mark and its copy.
    var paths: [String] { [self.path] + (self.copy.withLock { $0.map { [$0.path] } } ?? []) }

    /// Marks an open store as in use.
    ///
    /// Returns once the mark has reached the device. Must be called after the log was created, because the log's name
    /// becomes durable together with the mark's.
    init(of store: String, page: UInt32, generation: UInt64) throws(FileError) {
        self.path = Self.path(of: store)
        self.page = page
        self.file = try RecordFile(opening: self.path)
        try self.file.write(Content(isInUse: true, page: page, generation: generation).encoded(), at: 0)
        try self.file.synchronize()
        try DurableFile.synchronizeFolder(of: self.path)
    }

    /// Begins to keep a copy of the mark at another path, and returns once it has reached the device.
    ///
    /// An existing copy is overwritten in place, which needs no space on a full disk.
    func keepCopy(at path: String, _ generation: UInt64) throws(FileError) {
        let content = Content(isInUse: true, page: self.page, generation: generation).encoded()
        if !DurableFile.isNamed(path) { try DurableFile.write(content, to: path) }
        let file = try RecordFile(opening: path)
        try file.write(content, at: 0)
        try file.synchronize()
        self.copy.withLock { $0 = (path, file) }
    }

    /// Creates the mark of a store that is being created or restored.
    static func create(of store: String) throws(FileError) {
        try DurableFile.write(Content().encoded(), to: Self.path(of: store))
    }

    /// Writes a mark that makes every later check reject the store: it names the first page, which never contains the
    /// generation.
    static func condemn(_ store: String) throws(FileError) {
        try DurableFile.write(
            Content(isInUse: true, page: 1, generation: .max).encoded(),
            to: Self.path(of: store)
        )
    }

    /// Reads a mark, or returns nil if it is missing or damaged.
    static func read(at path: String) throws(FileError) -> Content? {
        let file = try AppendFile.ifPresent(reading: path)
        return try file.flatMap { file throws(FileError) in
            Content(decoding: try file.read(at: 0, atMost: Self.byteCount + 1))
        }
    }

    /// Marks a closed store as not in use, if SQLite has copied the log into the store and removed it.
    static func release(_ store: String) {
        let path = self.path(of: store)
        guard !DurableFile.exists(store + "-wal"), var content = try? self.read(at: path), content.isInUse else {
            return
        }
        content.isInUse = false
        try? DurableFile.write(content.encoded(), to: path)
    }

    /// Records a synced commit, in a single write to each file.
    func note(_ generation: UInt64) throws(FileError) {
        let content = Content(isInUse: true, page: self.page, generation: generation).encoded()
        try self.file.write(content, at: 0)
        try self.copy.withLock { $0?.file }?.write(content, at: 0)
    }

    /// Records a clean shutdown, after the log was copied into the store and removed.
    func end(_ generation: UInt64) throws(FileError) {
        try self.file.write(Content(isInUse: false, page: self.page, generation: generation).encoded(), at: 0)
        try self.file.synchronize()
    }
}

/// The copy of an embedded store's mark that a server keeps beside its audit log.
///
/// Threat (G4): the data folder with the database, its log and its mark is replaced by an older copy. If the audit log
/// has no entry since, only this copy names a later commit than the store's last one.
package enum MarkCopy {
    /// The path of the copy beside the audit log at `path`.
    package static func path(besideAuditLog path: String) -> String { path + ".mark" }

    /// Returns the number of the store's last commit according to the copy beside an audit log, or nil if the copy is
    /// missing or damaged.
    package static func generation(besideAuditLog path: String) throws(FileError) -> UInt64? {
        try StoreMark.read(at: Self.path(besideAuditLog: path))?.generation
    }

    /// Creates the copy if it is missing or damaged.
    ///
    /// Used by a restore, whose store has a later generation than a sound copy.
    package static func create(besideAuditLog path: String) throws(FileError) {
        guard try Self.generation(besideAuditLog: path) == nil else { return }
        try DurableFile.write(StoreMark.Content().encoded(), to: Self.path(besideAuditLog: path))
    }
}

extension StoreMark.Content {
    func encoded() -> [UInt8] {
        var bytes = StoreMark.magic + [StoreMark.form, self.isInUse ? 1 : 0, 0, 0]
        bytes.append(bigEndian: UInt64(self.page), byteCount: 4)
        bytes.append(bigEndian: self.generation, byteCount: 8)
        let sum = Self.checksum(of: bytes[...])
        bytes.append(bigEndian: UInt64(sum.first), byteCount: 4)
        bytes.append(bigEndian: UInt64(sum.second), byteCount: 4)
        return bytes
    }

    init?(decoding bytes: [UInt8]) {
        guard bytes.count == StoreMark.byteCount, bytes.starts(with: StoreMark.magic), bytes[8] == StoreMark.form else {
            return nil
        }
        self.isInUse = bytes[9] == 1
        self.page = UInt32(truncatingIfNeeded: bytes[12..<16].bigEndian)
        self.generation = bytes[16..<24].bigEndian
        guard self.encoded() == bytes else { return nil }
    }

    private static func checksum(of bytes: ArraySlice<UInt8>) -> LogChecksum {
        var sum = LogChecksum()
        sum.add(bytes, isBigEndian: true)
        return sum
    }
}
