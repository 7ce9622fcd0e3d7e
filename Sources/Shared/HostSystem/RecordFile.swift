internal import Glibc

/// A file whose parts are read and written in place.
///
/// What was written survives the end of the process, however it ends; only what ``synchronize()`` returned for survives
/// the machine's. A part that was being written when the machine ended may be torn: who writes such parts marks them so
/// that it is recognized.
package final class RecordFile: Sendable {
    private let file: Descriptor

    /// Opens a file that exists; a symbolic link is not followed.
    package init(opening path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDWR | O_NOFOLLOW)
    }

    /// The length in bytes.
    package func length() throws(FileError) -> Int { try self.file.byteCount() }

    /// Makes the file so long, and has the room for it set aside; what is new in it is zero.
    ///
    /// So a full disk is met here and not by a later write.
    package func extend(to length: Int) throws(FileError) {
        while true {
            // Not errno but the result says what failed (posix_fallocate(3)).
            let code = posix_fallocate(self.file.number, 0, off_t(length))
            if code == 0 { return }
            if code != EINTR { throw SystemCall.error(code, self.file.path) }
        }
    }

    /// Reads so many bytes; fewer where the file ends before.
    package func read(_ count: Int, at offset: Int) throws(FileError) -> [UInt8] {
        try self.file.read(count, at: offset)
    }

    /// Writes all of the bytes.
    package func write(_ bytes: [UInt8], at offset: Int) throws(FileError) {
        try self.file.write(bytes, at: offset)
    }

    /// Returns once everything written is on the device.
    package func synchronize() throws(FileError) {
        try SystemCall.retrying(self.file.path) { fdatasync(self.file.number) }
    }
}
