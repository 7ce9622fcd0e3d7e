internal import CHostSystem
internal import Glibc

/// Changes files atomically and durably.
///
/// To write a file, we create a new one, sync it, rename it over the old one and sync the folder. No matter when we
/// crash, the file has either the old or the new contents, never a mixture. When a call returns, its change has reached
/// the device.
package enum DurableFile {
    /// Replaces the contents of a file, creating it if necessary.
    ///
    /// If this throws, the file still has its old contents.
    ///
    /// - Important: If there can be more than one writer, they must hold a lock (see ``FileLock``).
    package static func write(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(FileError) {
        let temporary = path + ".new"
        do throws(FileError) {
            try self.writeNew(bytes, to: temporary, flags: O_CREAT | O_TRUNC, mode: mode)
            try SystemCall.retrying(path) { unsafe rename(temporary, path) }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try self.synchronizeFolder(of: path)
    }

    /// Creates a file that must not exist yet.
    ///
    /// If it does, this throws and the file is not changed.
    package static func create(_ bytes: [UInt8], at path: String, mode: UInt32 = 0o600) throws(FileError) {
        // Use a unique name, so that a concurrent call cannot truncate a file that is about to be renamed.
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
        do throws(FileError) {
            try self.writeNew(bytes, to: temporary, flags: O_CREAT | O_EXCL, mode: mode)
            try self.renameExclusively(temporary, to: path)
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        try self.synchronizeFolder(of: path)
    }

    /// Reads an entire regular file of at most `limit` bytes.
    ///
    /// Never waits: a pipe, socket or device in the file's place is rejected with its kind. A symbolic link is
    /// followed, since keys and certificates are often links, such as those of a Kubernetes secret.
    package static func read(_ path: String, atMost limit: Int) throws(FileError) -> [UInt8] {
        try self.readWithMode(path, atMost: limit).bytes
    }

    /// Reads a program's own data file of at most `limit` bytes.
    ///
    /// Threat: a link placed in the program's folder leads it to the data of another, and opening or reading a pipe
    /// may never return. Unlike ``read(_:atMost:)``, it follows no link.
    package static func readOwn(_ path: String, atMost limit: Int) throws(FileError) -> [UInt8] {
        try Descriptor(regular: path, flags: O_RDONLY, hasOneName: false).read(atMost: limit)
    }

    /// Reads an entire file of at most `limit` bytes as UTF-8.
    ///
    /// Invalid bytes become replacement characters.
    package static func readText(_ path: String, atMost limit: Int) throws(FileError) -> String {
        String(decoding: try self.read(path, atMost: limit), as: UTF8.self)
    }

    /// Does the same as ``read(_:atMost:)``, and also returns the permission bits, through the same descriptor.
    package static func readWithMode(
        _ path: String,
        atMost limit: Int
    ) throws(FileError) -> (bytes: [UInt8], mode: UInt32) {
        let file = try Descriptor(regular: path, flags: O_RDONLY, followingLinks: true)
        var status = stat()
        try SystemCall.retrying(path) { unsafe fstat(file.number, &status) }
        return (try file.read(atMost: limit), status.st_mode & 0o7777)
    }

    /// Appends bytes to a file, creating it if necessary, and returns when they have reached the device.
    ///
    /// This is not atomic: after a crash, the file may end with only some of the bytes.
    package static func append(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(FileError) {
        let isNew = !self.exists(path)
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_APPEND | O_CREAT, mode: mode)
        try file.write(bytes)
        try file.synchronize()
        if isNew { try self.synchronizeFolder(of: path) }
    }

    /// Durably removes a file, so that it does not reappear after a crash.
    package static func remove(_ path: String) throws(FileError) {
        try SystemCall.retrying(path) { unsafe unlink(path) }
        try self.synchronizeFolder(of: path)
    }

    /// Creates a folder and its missing parents.
    ///
    /// If the folder already exists, its mode does not change.
    package static func makeFolder(_ path: String, mode: UInt32 = 0o700) throws(FileError) {
        if self.isFolder(path) { return }
        let parent = self.folder(of: path)
        if parent != path, !self.isFolder(parent) { try self.makeFolder(parent, mode: mode) }
        do throws(FileError) {
            try SystemCall.retrying(path) { unsafe mkdir(path, mode) }
        } catch .exists {
            guard self.isFolder(path) else { throw .other(path, errno: ENOTDIR) }
            return  // Another process has created it in the meantime.
        }
        // The umask may have cleared some bits of the requested mode.
        try SystemCall.retrying(path) { unsafe chmod(path, mode) }
        try self.synchronizeFolder(of: path)
    }

    /// Returns the sorted names of a folder's entries, without `.` and `..`.
    package static func names(in path: String) throws(FileError) -> [String] {
        guard let folder = unsafe opendir(path) else { throw SystemCall.error(errno, path) }
        defer { unsafe closedir(folder) }
        // An entry is only as long as its name, so copying the 256 bytes the type declares for the name would read past
        // the end.
        guard let place = MemoryLayout<dirent>.offset(of: \.d_name) else {
            preconditionFailure("members of a C structure have an offset")
        }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let start = unsafe UnsafeRawPointer(entry).advanced(by: place).assumingMemoryBound(to: CChar.self)
            let name = unsafe String(cString: start)
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the permission bits of a file or folder.
    package static func mode(of path: String) throws(FileError) -> UInt32 {
        try self.status(of: path).st_mode & 0o7777
    }

    /// Returns the user that owns a file or folder.
    package static func owner(of path: String) throws(FileError) -> UInt32 {
        try self.status(of: path).st_uid
    }

    /// Returns the inode number, which identifies a file on its file system.
    static func inode(of path: String) throws(FileError) -> UInt64 {
        UInt64(try self.status(of: path).st_ino)
    }

    /// Returns whether a file or folder with this name exists, following symbolic links.
    package static func exists(_ path: String) -> Bool { (try? self.status(of: path)) != nil }

    /// Returns whether anything has this name, such as a symbolic link to a file that does not exist.
    package static func isNamed(_ path: String) -> Bool {
        var status = stat()
        return unsafe lstat(path, &status) == 0
    }

    /// Returns whether the path is a folder, following symbolic links.
    package static func isFolder(_ path: String) -> Bool {
        guard let status = try? self.status(of: path) else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns whether the path is a regular file, following symbolic links.
    package static func isRegular(_ path: String) -> Bool {
        guard let status = try? self.status(of: path) else { return false }
        return status.st_mode & S_IFMT == S_IFREG
    }

    /// Returns the time when a file was last modified, in nanoseconds since 1970.
    ///
    /// This is a cheap way to find out whether the contents might have changed.
    package static func changeTime(of path: String) throws(FileError) -> Int64 {
        let time = try self.status(of: path).st_mtim
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Sets the modification time of a file to the current time.
    package static func touch(_ path: String) throws(FileError) {
        try SystemCall.retrying(path) { unsafe utimensat(AT_FDCWD, path, nil, 0) }
    }

    /// Throws if this user is not allowed to write to a file or socket.
    package static func requireWritable(_ path: String) throws(FileError) {
        try SystemCall.retrying(path) { unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) }
    }

    /// Returns whether two paths refer to the same file or folder, following any links.
    package static func isSame(_ path: String, as other: String) -> Bool {
        guard let one = try? self.status(of: path), let two = try? self.status(of: other) else { return false }
        return one.st_dev == two.st_dev && one.st_ino == two.st_ino
    }

    private static func status(of path: String) throws(FileError) -> stat {
        var status = stat()
        try SystemCall.retrying(path) { unsafe stat(path, &status) }
        return status
    }

    private static func writeNew(_ bytes: [UInt8], to path: String, flags: Int32, mode: UInt32) throws(FileError) {
        // A symbolic link that an attacker placed here must not redirect the write.
        let file = try Descriptor(regular: path, flags: O_WRONLY | flags, mode: mode)
        try SystemCall.retrying(path) { fchmod(file.number, mode) }
        try file.write(bytes)
        try file.synchronize()
    }

    /// Makes the creation or removal of a file durable by syncing its folder.
    ///
    /// Syncing the file itself does not (fsync(2)).
    package static func synchronizeFolder(of path: String) throws(FileError) {
        try Descriptor(opening: self.folder(of: path), flags: O_RDONLY | O_DIRECTORY).synchronize()
    }

    package static func folder(of path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// Durably creates, renames and removes files that are written by other code or too large for memory.
extension DurableFile {
    /// Creates an empty file for a writer that will open it by name.
    ///
    /// The file must not exist yet.
    package static func makeEmpty(_ path: String, mode: UInt32 = 0o600) throws(FileError) {
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        try SystemCall.retrying(path) { fchmod(file.number, mode) }
    }

    /// Returns when the contents of a file have reached the device.
    package static func synchronize(_ path: String) throws(FileError) {
        try Descriptor(regular: path, flags: O_RDWR).synchronize()
    }

    /// Durably moves a complete, synced file to its final name on the same file system.
    ///
    /// An existing file is never replaced. If the process is killed, the file has one of the names, or both on a file
    /// system without `RENAME_NOREPLACE`. Making the same call again completes the move.
    package static func place(_ temporary: String, at path: String) throws(FileError) {
        do throws(FileError) {
            try self.renameExclusively(temporary, to: path)
        } catch .exists where self.areNamesOfOne(temporary, path) {
            // An earlier call has already linked the file.
            unsafe unlink(temporary)
        }
        try self.synchronizeEntries(of: self.parent(of: path))
        try self.synchronizeEntries(of: self.parent(of: temporary))
    }

    /// Renames a file, and fails if the new name exists.
    ///
    /// The file never has both names, with which it would be rejected (``OddFile``). On file systems without
    /// `RENAME_NOREPLACE`, such as NFS, it has both for a moment.
    static func renameExclusively(_ name: String, to path: String) throws(FileError) {
        do throws(FileError) {
            try SystemCall.retrying(path) { unsafe host_system_rename_exclusively(name, path) }
        } catch .other(_, EINVAL) {
            // link(2) fails if the name exists, whereas rename(2) would replace the file.
            try SystemCall.retrying(path) { unsafe link(name, path) }
            unsafe unlink(name)
        }
    }

    /// Returns whether both names are links to the same file, which means that one of them can be removed without
    /// losing it.
    private static func areNamesOfOne(_ first: String, _ second: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard unsafe lstat(first, &one) == 0, unsafe lstat(second, &other) == 0 else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_nlink > 1
    }

    /// Removes a folder and its files.
    ///
    /// The folder must not contain other folders. A link to a folder is rejected, because the files in it belong to
    /// another.
    package static func removeFolder(_ path: String) throws(FileError) {
        var status = stat()
        try SystemCall.retrying(path) { unsafe lstat(path, &status) }
        let kind = OddFile(status, hasOneName: false)
        if let kind, kind != .folder { throw .odd(path, kind) }
        for name in try self.names(in: path) {
            let file = "\(path)/\(name)"
            try SystemCall.retrying(file) { unsafe unlink(file) }
        }
        try SystemCall.retrying(path) { unsafe rmdir(path) }
        try self.synchronizeEntries(of: self.parent(of: path))
    }

    private static func synchronizeEntries(of folder: String) throws(FileError) {
        try Descriptor(opening: folder, flags: O_RDONLY | O_DIRECTORY).synchronize()
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

/// The file that a path leads to and the time of its last write, to notice that another program replaced or wrote it.
package struct FileState: Hashable, Sendable {
    private let device, inode: UInt64
    private let byteCount: Int64
    /// The time of the last write, in nanoseconds since 1970.
    private let written: Int64

    /// Reads the state without following a link.
    package init(of path: String) throws(FileError) {
        var status = stat()
        try SystemCall.retrying(path) { unsafe lstat(path, &status) }
        (self.device, self.inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
        self.byteCount = Int64(status.st_size)
        self.written = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Returns whether both are states of the same file.
    package func isOfSameFile(as other: FileState) -> Bool {
        self.device == other.device && self.inode == other.inode
    }
}
