internal import CHostSystem
internal import Glibc

/// An open file that can only be appended to.
///
/// Appended bytes have reached the device when ``append(_:)`` returns.
///
/// This is a class because the writer keeps it for its entire lifetime. Only one writer may use the file at a time, and
/// it must hold a ``FileLock``.
package final class AppendFile: Sendable {
    /// An error from appending bytes.
    package enum AppendError: Error, Hashable, Sendable {
        /// The bytes were not appended, so the file has not changed.
        case refused(FileError)
        /// The contents on the device are unknown. A later sync might succeed without writing the bytes lost by this
        /// one, so the caller must not write to the file again.
        case unknown(FileError)
    }

    private let file: Descriptor

    /// Opens an existing file for reading and appending.
    package init(_ path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDWR | O_APPEND | O_NOFOLLOW)
    }

    /// Opens an existing file for reading only.
    package init(reading path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDONLY)
    }

    /// Returns the current length of the file.
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
        let file = try Descriptor(opening: self.file.path, flags: O_WRONLY | O_NOFOLLOW)
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
        let length: Int
        do throws(FileError) {
            length = try self.byteCount()
            if room > 0 { try self.setAside(bytes.count + room, behind: length) }
        } catch {
            throw .refused(error)
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
    }
}
