internal import CHostSystem
internal import Glibc

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
