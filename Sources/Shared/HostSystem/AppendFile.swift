internal import Glibc

/// An open file that only grows: what was appended has reached the device when ``append(_:)`` returns.
///
/// A class because it is held by whatever writes it as long as that lives; one writer at a time, who holds a
/// ``FileLock``.
public final class AppendFile: Sendable {
    /// Why bytes were not appended.
    public enum AppendError: Error, Hashable, Sendable {
        /// Nothing was appended: the file is as it was.
        case refused(FileError)
        /// What the device holds is not known; a later sync may succeed without what this one lost. Nothing may be
        /// written any more.
        case unknown(FileError)
    }

    private let file: Descriptor

    /// Opens a file that exists, to read it and to append to it.
    public init(_ path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDWR | O_APPEND | O_NOFOLLOW)
    }

    /// Opens a file that exists, to read it only.
    public init(reading path: String) throws(FileError) {
        self.file = try Descriptor(opening: path, flags: O_RDONLY)
    }

    /// How long the file is now.
    public func byteCount() throws(FileError) -> Int {
        var status = stat()
        try SystemCall.retrying(self.file.path) { unsafe fstat(self.file.number, &status) }
        return Int(status.st_size)
    }

    /// At most so many bytes from a place on; fewer only at the end.
    public func read(at offset: Int, atMost count: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var read = 0
        while read < count {
            let some = try SystemCall.retrying(self.file.path) {
                unsafe bytes.withUnsafeMutableBytes { buffer in
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[read...])
                    return unsafe pread(self.file.number, rest.baseAddress, rest.count, off_t(offset + read))
                }
            }
            if some == 0 { break }
            read += some
        }
        return Array(bytes.prefix(read))
    }

    /// Adds bytes to the end, all or none, and returns once they have reached the device.
    ///
    /// After a crash a part of them may be there.
    public func append(_ bytes: [UInt8]) throws(AppendError) {
        let length: Int
        do throws(FileError) { length = try self.byteCount() } catch { throw .refused(error) }
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
