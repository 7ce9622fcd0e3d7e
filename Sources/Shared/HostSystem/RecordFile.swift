internal import Glibc

/// A file whose records are read and written in place.
///
/// Written bytes are safe no matter how the process ends, but they only survive a power failure once ``synchronize()``
/// has returned. A power failure during a write can tear a record, so the caller must be able to recognize torn
/// records.
package final class RecordFile: Sendable {
    private let file: Descriptor

    /// Opens an existing file, which must be a regular one.
    package init(opening path: String) throws(FileError) {
        self.file = try Descriptor(regular: path, flags: O_RDWR)
    }

    package func length() throws(FileError) -> Int { try self.file.byteCount() }

    /// Extends the file to `length` with zeros and reserves disk space for it.
    ///
    /// This way, it is this call that fails if the disk is full, and not a later write.
    package func extend(to length: Int) throws(FileError) {
        while true {
            // posix_fallocate(3) returns the error number and does not set errno.
            let code = posix_fallocate(self.file.number, 0, off_t(length))
            if code == 0 { return }
            if code != EINTR { throw SystemCall.error(code, self.file.path) }
        }
    }

    /// Reads `count` bytes, or fewer if the file ends before that.
    package func read(_ count: Int, at offset: Int) throws(FileError) -> [UInt8] {
        try self.file.read(count, at: offset)
    }

    package func write(_ bytes: [UInt8], at offset: Int) throws(FileError) {
        try self.file.write(bytes, at: offset)
    }

    /// Returns when all written bytes have reached the device.
    package func synchronize() throws(FileError) {
        try SystemCall.retrying(self.file.path) { fdatasync(self.file.number) }
    }
}
