internal import Glibc

/// Files that somebody else wrote, or that are too large to be held, brought to their place for good.
extension DurableFile {
    /// Makes an empty file that must not exist yet, for somebody who writes it by its name.
    package static func makeEmpty(_ path: String, mode: UInt32 = 0o600) throws(FileError) {
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        try SystemCall.retrying(path) { fchmod(file.number, mode) }
    }

    /// Returns once what was written to a file has reached the device.
    package static func synchronize(_ path: String) throws(FileError) {
        try Descriptor(opening: path, flags: O_RDWR | O_NOFOLLOW).synchronize()
    }

    /// Gives a whole, synced file its final name in the same file system, durably; one that has the name stays as it is.
    ///
    /// Whoever is killed in between leaves the file with both names. The same call finishes that.
    package static func place(_ temporary: String, at path: String) throws(FileError) {
        do throws(FileError) {
            // link(2) refuses an existing name, which rename(2) would replace.
            try SystemCall.retrying(path) { unsafe link(temporary, path) }
        } catch .exists where self.areNamesOfOne(temporary, path) {
            // What is left to do is what follows.
        }
        try self.synchronizeEntries(of: self.parent(of: path))
        unsafe unlink(temporary)
        try self.synchronizeEntries(of: self.parent(of: temporary))
    }

    /// Whether two names are one file's, which has a name yet when either is gone.
    private static func areNamesOfOne(_ first: String, _ second: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard unsafe lstat(first, &one) == 0, unsafe lstat(second, &other) == 0 else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_nlink > 1
    }

    /// Removes a folder and the files in it, none of which is a folder.
    package static func removeFolder(_ path: String) throws(FileError) {
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
