internal import Glibc

/// Files that somebody else wrote, or that are too large to be held, brought to their place for good.
extension DurableFile {
    /// Makes an empty file that must not exist yet, for somebody who writes it by its name.
    public static func makeEmpty(_ path: String, mode: UInt32 = 0o600) throws(FileError) {
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        try SystemCall.retrying(path) { fchmod(file.number, mode) }
    }

    /// Returns once what was written to a file has reached the device.
    public static func synchronize(_ path: String) throws(FileError) {
        try Descriptor(opening: path, flags: O_RDWR | O_NOFOLLOW).synchronize()
    }

    /// Gives a whole, synced file its final name in the same file system, durably; one that has the name stays as it is.
    public static func place(_ temporary: String, at path: String) throws(FileError) {
        // link(2) refuses an existing name, which rename(2) would replace.
        try SystemCall.retrying(path) { unsafe link(temporary, path) }
        try self.synchronizeEntries(of: self.parent(of: path))
        unsafe unlink(temporary)
        try self.synchronizeEntries(of: self.parent(of: temporary))
    }

    /// Removes a folder and the files in it, none of which is a folder.
    public static func removeFolder(_ path: String) throws(FileError) {
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
