internal import CHostSystem
internal import Glibc

/// An open file that only grows; appended bytes have reached the device when ``append(_:)`` returns.
///
/// The type is a class because its writer holds it for its whole life. One writer at a time may use the file and must
/// hold a ``FileLock``.
package final class AppendFile: Sendable {
    /// The reason why bytes were not appended.
    package enum AppendError: Error, Hashable, Sendable {
        /// Nothing was appended; the file is unchanged.
        case refused(FileError)
        /// The contents on the device are unknown. A later sync may succeed without writing the bytes that this one
        /// lost, so the caller must not write to the file again.
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

    /// The present length of the file.
    package func byteCount() throws(FileError) -> Int { try self.file.byteCount() }

    /// Reads at most `count` bytes from `offset`; fewer only at the end of the file.
    package func read(at offset: Int, atMost count: Int) throws(FileError) -> [UInt8] {
        try self.file.read(count, at: offset)
    }

    /// Rewrites the last bytes unchanged and returns when they have reached the device.
    ///
    /// After a failed sync, lost bytes may still be readable from memory, and no later sync writes them (fsync(2)). A
    /// writer that appended after them would leave a hole in the file after the next power failure.
    package func renewEnd(atMost count: Int) throws(FileError) {
        let length = try self.byteCount()
        let offset = max(0, length - count)
        let bytes = try self.read(at: offset, atMost: length - offset)
        // A separate descriptor, because the file's own one appends.
        let file = try Descriptor(opening: self.file.path, flags: O_WRONLY | O_NOFOLLOW)
        try file.write(bytes, at: offset)
        try file.synchronize()
    }

    /// Reserves room after the end; it belongs to the file, also after a restart, without changing its length
    /// (fallocate(2)).
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
    /// After a crash, the file may end with a part of them.
    ///
    /// - Parameter room: The number of bytes to reserve after the appended ones, for later appends that reserve none.
    ///   If the file system has less room, the append is refused. If it cannot reserve room, this function assumes that
    ///   the room exists.
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
            // If the disk became full, the file ends with a part of the bytes.
            do throws(FileError) {
                try SystemCall.retrying(self.file.path) { ftruncate(self.file.number, off_t(length)) }
            } catch {
                throw .unknown(error)
            }
            throw .refused(error)
        }
        do throws(FileError) {
            try SystemCall.retrying(self.file.path) { fdatasync(self.file.number) }
        } catch {
            throw .unknown(error)
        }
    }
}
