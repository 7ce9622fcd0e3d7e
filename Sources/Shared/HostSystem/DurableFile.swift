internal import Glibc

/// Files that are either as they were or as they should be, whatever happens in between.
///
/// A write makes a new file, syncs it, renames it over the old one and syncs the folder: a crash at any instruction
/// leaves the old contents or the new ones, never a part, and what returned has reached the device.
package enum DurableFile {
    /// Replaces the file's contents, or makes it.
    ///
    /// When this throws the old contents are still there.
    ///
    /// - Important: Two writers of one path must exclude each other; see ``FileLock``.
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

    /// Makes a file that must not exist yet; one that does stays as it is.
    package static func create(_ bytes: [UInt8], at path: String, mode: UInt32 = 0o600) throws(FileError) {
        // A name of its own: another maker at the same time must not truncate what is about to get the final name.
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
        do throws(FileError) {
            try self.writeNew(bytes, to: temporary, flags: O_CREAT | O_EXCL, mode: mode)
            // link(2) refuses an existing name, which rename(2) would replace.
            try SystemCall.retrying(path) { unsafe link(temporary, path) }
        } catch {
            unsafe unlink(temporary)
            throw error
        }
        unsafe unlink(temporary)
        try self.synchronizeFolder(of: path)
    }

    /// Reads a whole file of at most so many bytes.
    package static func read(_ path: String, atMost limit: Int) throws(FileError) -> [UInt8] {
        try Descriptor(opening: path, flags: O_RDONLY).read(atMost: limit)
    }

    /// Reads a whole file together with its permission bits, which are those of what was read.
    package static func readWithMode(
        _ path: String,
        atMost limit: Int
    ) throws(FileError) -> (bytes: [UInt8], mode: UInt32) {
        let file = try Descriptor(opening: path, flags: O_RDONLY)
        var status = stat()
        try SystemCall.retrying(path) { unsafe fstat(file.number, &status) }
        return (try file.read(atMost: limit), status.st_mode & 0o7777)
    }

    /// Adds bytes to the end of a file, or makes it, and returns once they have reached the device.
    ///
    /// Not atomic: after a crash a part of them may be there.
    package static func append(_ bytes: [UInt8], to path: String, mode: UInt32 = 0o600) throws(FileError) {
        let isNew = !self.exists(path)
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_APPEND | O_CREAT, mode: mode)
        try file.write(bytes)
        try file.synchronize()
        if isNew { try self.synchronizeFolder(of: path) }
    }

    /// Removes a file for good, also after a crash.
    package static func remove(_ path: String) throws(FileError) {
        try SystemCall.retrying(path) { unsafe unlink(path) }
        try self.synchronizeFolder(of: path)
    }

    /// Makes a folder and those above it that are missing; one that exists keeps its mode.
    package static func makeFolder(_ path: String, mode: UInt32 = 0o700) throws(FileError) {
        if self.isFolder(path) { return }
        let parent = self.folder(of: path)
        if parent != path, !self.isFolder(parent) { try self.makeFolder(parent, mode: mode) }
        do throws(FileError) {
            try SystemCall.retrying(path) { unsafe mkdir(path, mode) }
        } catch .exists where self.isFolder(path) {
            return  // Another process made it meanwhile.
        }
        // The umask may have taken bits away that the caller asked for.
        try SystemCall.retrying(path) { unsafe chmod(path, mode) }
        try self.synchronizeFolder(of: path)
    }

    /// The names in a folder, sorted; without `.` and `..`.
    package static func names(in path: String) throws(FileError) -> [String] {
        guard let folder = unsafe opendir(path) else { throw SystemCall.error(errno, path) }
        defer { unsafe closedir(folder) }
        // An entry is as long as its name: a copy of it, with the 256 bytes that the type has for one, would read beyond it.
        guard let place = MemoryLayout<dirent>.offset(of: \.d_name) else {
            preconditionFailure("a C structure's members have places")
        }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let start = unsafe UnsafeRawPointer(entry).advanced(by: place).assumingMemoryBound(to: CChar.self)
            let name = unsafe String(cString: start)
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The permission bits of a file or folder.
    package static func mode(of path: String) throws(FileError) -> UInt32 {
        try self.status(of: path).st_mode & 0o7777
    }

    /// Whether anything has this name, through symbolic links.
    package static func exists(_ path: String) -> Bool {
        (try? self.status(of: path)) != nil
    }

    /// Whether this is a folder, through symbolic links.
    package static func isFolder(_ path: String) -> Bool {
        guard let status = try? self.status(of: path) else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// When a file was last changed, in nanoseconds since 1970: cheap to ask whether it has to be read again.
    package static func changeTime(of path: String) throws(FileError) -> Int64 {
        let time = try self.status(of: path).st_mtim
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func status(of path: String) throws(FileError) -> stat {
        var status = stat()
        try SystemCall.retrying(path) { unsafe stat(path, &status) }
        return status
    }

    private static func writeNew(_ bytes: [UInt8], to path: String, flags: Int32, mode: UInt32) throws(FileError) {
        // O_NOFOLLOW: a link that someone put there must not lead the write elsewhere.
        let file = try Descriptor(opening: path, flags: O_WRONLY | O_NOFOLLOW | flags, mode: mode)
        try SystemCall.retrying(path) { fchmod(file.number, mode) }
        try file.write(bytes)
        try file.synchronize()
    }

    /// Makes a new or removed name in a folder durable (fsync(2): a file's own sync does not).
    private static func synchronizeFolder(of path: String) throws(FileError) {
        try Descriptor(opening: self.folder(of: path), flags: O_RDONLY | O_DIRECTORY).synchronize()
    }

    private static func folder(of path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
