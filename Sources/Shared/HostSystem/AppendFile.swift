internal import CHostSystem
internal import Glibc
internal import Synchronization

/// An open file that can only be appended to.
///
/// Appended bytes have reached the device when ``append(_:)`` returns.
///
/// This is a class because the writer keeps it for its entire lifetime. Only one writer may use the file at a time, and
/// it must hold a ``FileLock``.
///
/// Invariant: bytes are appended only behind those that this object has read or written, and only to the file that its
/// path leads to. A file that was cut, extended, moved or replaced is not written again.
package final class AppendFile: Sendable {
    package enum AppendError: Error, Hashable, Sendable {
        /// The bytes were not appended, so the file has not changed.
        case refused(FileError)
        /// The contents on the device are unknown. A later sync might succeed without writing the bytes lost by this
        /// one, so the caller must not write to the file again.
        case unknown(FileError)
        /// Another program changed the file, and nothing was appended. The caller must not write to it again.
        case changed(Change)
    }

    /// A difference between the file and the one that this object has written.
    package enum Change: Hashable, Sendable, CustomStringConvertible {
        /// The file was cut, or another program appended to it.
        case length(String, written: Int, found: Int)
        /// The path leads to another file or to none, because the file was moved, replaced or removed.
        case moved(String, written: Int)

        package var description: String {
            switch self {
            case .length(let path, let written, let found):
                "\(path) has \(found) bytes, but \(written) were written: it was cut, or another program wrote to it"
            case .moved(let path, let written):
                "\(path) is not the file to which \(written) bytes were written: that file was moved, replaced or "
                    + "removed"
            }
        }
    }

    private let file: Descriptor
    /// The length of the file after the last append.
    private let length: Mutex<Int>

    /// Opens an existing file for reading and appending.
    package convenience init(_ path: String) throws(FileError) {
        try self.init(Descriptor(regular: path, flags: O_RDWR | O_APPEND))
    }

    /// Opens an existing file for reading only.
    ///
    /// - Parameter followingLinks: Whether the path may be a link, because no other file is looked for beside it.
    package convenience init(reading path: String, followingLinks: Bool = false) throws(FileError) {
        try self.init(Descriptor(regular: path, flags: O_RDONLY, followingLinks: followingLinks))
    }

    private init(_ file: consuming Descriptor) throws(FileError) {
        self.length = Mutex(try file.byteCount())
        self.file = file
    }

    /// Opens an existing file for reading only, which may have several names but must not be a link.
    ///
    /// Only use this for content that is authenticated as a whole. On some file systems, a move by
    /// ``DurableFile/place(_:at:)`` that was killed leaves a file with both names.
    package convenience init(readingAuthenticated path: String) throws(FileError) {
        try self.init(Descriptor(regular: path, flags: O_RDONLY, hasOneName: false))
    }

    /// Opens a file for reading only, or returns nil if nothing has that name.
    ///
    /// A dangling link is not a missing file.
    package static func ifPresent(reading path: String) throws(FileError) -> AppendFile? {
        try HostSystem.ifPresent(AppendFile(reading: path))
    }

    package func byteCount() throws(FileError) -> Int { try self.file.byteCount() }

    /// Reads at most `count` bytes from `offset`, and fewer only at the end of the file.
    package func read(at offset: Int, atMost count: Int) throws(FileError) -> [UInt8] {
        try self.file.read(count, at: offset)
    }

    /// Rewrites the last bytes unchanged and returns when they have reached the device.
    ///
    /// After a failed sync, the lost bytes may still be readable from memory even though no later sync will write them
    /// (fsync(2)). If we appended after them, there would be a hole in the file after the next power failure.
    package func renewEnd(atMost count: Int) throws(FileError) {
        let length = try self.byteCount()
        let offset = max(0, length - count)
        let bytes = try self.read(at: offset, atMost: length - offset)
        // We need a separate descriptor because ours was opened for appending.
        let file = try Descriptor(regular: self.file.path, flags: O_WRONLY)
        try file.write(bytes, at: offset)
        try file.synchronize()
    }

    /// Reserves space after the end of the file without changing its length (fallocate(2)).
    ///
    /// The space stays reserved after a restart.
    private func setAside(_ room: Int, behind length: Int) throws(FileError) {
        do throws(FileError) {
            try SystemCall.retrying(self.file.path) {
                host_system_set_aside(self.file.number, off_t(length), off_t(room))
            }
        } catch {
            if case .other(_, EOPNOTSUPP) = error { return }
            throw error
        }
    }

    /// Appends all bytes or none, and returns when they have reached the device.
    ///
    /// After a crash, the file may end with only some of them.
    ///
    /// - Parameter room: The number of bytes to reserve after the appended ones, for later appends that do not reserve
    ///   any. The append is refused if there is not enough space. If the file system does not support reserving space,
    ///   we assume that there is enough.
    package func append(_ bytes: [UInt8], leavingRoomFor room: Int = 0) throws(AppendError) {
        let length = self.length.withLock(\.self)
        try self.requireUnchanged(length)
        if room > 0 {
            try mapError(self.setAside(bytes.count + room, behind: length), to: AppendError.refused)
        }
        do throws(FileError) {
            try self.file.write(bytes)
        } catch {
            // If the disk is full now, the file ends with only some of the bytes.
            try mapError(
                SystemCall.retrying(self.file.path) { ftruncate(self.file.number, off_t(length)) },
                to: AppendError.unknown
            )
            throw .refused(error)
        }
        try mapError(SystemCall.retrying(self.file.path) { fdatasync(self.file.number) }, to: AppendError.unknown)
        self.length.withLock { $0 = length + bytes.count }
    }

    /// Throws unless the path still leads to this file, and the file has this length.
    private func requireUnchanged(_ length: Int) throws(AppendError) {
        let path = self.file.path
        var (own, named) = (stat(), stat())
        do throws(FileError) {
            try SystemCall.retrying(path) { unsafe fstat(self.file.number, &own) }
            try SystemCall.retrying(path) { unsafe lstat(path, &named) }
        } catch .notFound {
            throw .changed(.moved(path, written: length))
        } catch {
            throw .refused(error)
        }
        guard own.st_dev == named.st_dev, own.st_ino == named.st_ino else {
            throw .changed(.moved(path, written: length))
        }
        guard Int(own.st_size) == length else {
            throw .changed(.length(path, written: length, found: Int(own.st_size)))
        }
    }
}
