internal import CHostSystem
internal import Glibc

/// An open file that only grows: what was appended has reached the device when ``append(_:)`` returns.
///
/// A class because it is held by whatever writes it as long as that lives; one writer at a time, who holds a
/// ``FileLock``.
package final class AppendFile: Sendable {
    /// Why bytes were not appended.
    package enum AppendError: Error, Hashable, Sendable {
        /// Nothing was appended: the file is as it was.
        case refused(FileError)
        /// What the device holds is not known; a later sync may succeed without what this one lost. Nothing may be
        /// written any more.
        case unknown(FileError)
    }

    private let file: Descriptor

    /// Opens a file that exists, to read it and to append to it.
    package init(_ path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDWR | O_APPEND | O_NOFOLLOW)
    }

    /// Opens a file that exists, to read it only.
    package init(reading path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDONLY)
    }

    /// How long the file is now.
    package func byteCount() throws(FileError) -> Int { try self.file.byteCount() }

    /// At most so many bytes from a place on; fewer only at the end.
    package func read(at offset: Int, atMost count: Int) throws(FileError) -> [UInt8] {
        try self.file.read(count, at: offset)
    }

    /// Writes the last bytes once more, as they are, and returns once they have reached the device.
    ///
    /// After a sync that failed, what was lost may still be read from memory and no later sync writes it (fsync(2)): whoever goes
    /// on behind it would have a hole in the file after the next loss of power.
    package func renewEnd(atMost count: Int) throws(FileError) {
        let length = try self.byteCount()
        let offset = max(0, length - count)
        let bytes = try self.read(at: offset, atMost: length - offset)
        // Not this one, which appends.
        let file = try Descriptor(opening: self.file.path, flags: O_WRONLY | O_NOFOLLOW)
        try file.write(bytes, at: offset)
        try file.synchronize()
    }

    /// Has room behind the end set aside, also across a restart: it is the file's, without being in it (fallocate(2)).
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

    /// Adds bytes to the end, all or none, and returns once they have reached the device.
    ///
    /// After a crash a part of them may be there.
    ///
    /// - Parameter room: Bytes for which the file system sets room aside behind them, which appends take that ask for none;
    ///   refused where there is not as much. A file system that cannot do that is taken at its word that there is.
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
            // A disk that became full has a part of it.
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
