internal import Glibc

/// Makes system calls, handling interruptions and error numbers in one place.
enum SystemCall {
    /// Returns the system's message for an error number.
    static func text(of code: Int32) -> String {
        guard let text = unsafe strerror(code) else { return "error \(code)" }
        return unsafe String(cString: text)
    }

    /// Makes a call that returns −1 on failure, and repeats it if it is interrupted by a signal (signal(7)).
    @discardableResult
    static func retrying<Value: FixedWidthInteger>(
        _ path: String,
        _ call: () -> Value
    ) throws(FileError) -> Value {
        while true {
            let result = call()
            if result != -1 { return result }
            let code = errno
            if code != EINTR { throw Self.error(code, path) }
        }
    }

    /// Converts an error number for a file to an error.
    static func error(_ code: Int32, _ path: String) -> FileError {
        switch code {
        case ENOENT: .notFound(path)
        case EACCES, EPERM, EROFS: .notAllowed(path)
        case ENOSPC, EDQUOT: .diskFull(path)
        case EEXIST: .exists(path)
        default: .other(path, errno: code)
        }
    }
}

/// An open file that is closed when it goes out of scope.
struct Descriptor: ~Copyable {
    let number: Int32
    let path: String

    /// Opens a file.
    ///
    /// Child processes do not inherit the descriptor.
    init(opening path: String, flags: Int32, mode: mode_t = 0) throws(FileError) {
        self.path = path
        self.number = try SystemCall.retrying(path) { unsafe open(path, flags | O_CLOEXEC, mode) }
    }

    deinit { close(self.number) }

    /// Writes all bytes at `offset`, or at the current position if it is nil.
    ///
    /// The offset must be nil for a file that was opened for appending, because the system would ignore it.
    borrowing func write(_ bytes: [UInt8], at offset: Int? = nil) throws(FileError) {
        var written = 0
        while written < bytes.count {
            written += try SystemCall.retrying(self.path) {
                unsafe bytes.withUnsafeBytes { buffer in
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                    guard let offset else { return unsafe Glibc.write(self.number, rest.baseAddress, rest.count) }
                    return unsafe pwrite(self.number, rest.baseAddress, rest.count, off_t(offset + written))
                }
            }
        }
    }

    /// Reads at most `count` bytes from `offset`, and fewer only at the end of the file.
    borrowing func read(_ count: Int, at offset: Int) throws(FileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var read = 0
        while read < count {
            let some = try SystemCall.retrying(self.path) {
                unsafe bytes.withUnsafeMutableBytes { buffer in
                    let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[read...])
                    return unsafe pread(self.number, rest.baseAddress, rest.count, off_t(offset + read))
                }
            }
            if some == 0 { break }
            read += some
        }
        if read < count { bytes.removeLast(count - read) }
        return bytes
    }

    /// Returns the current length of the file.
    borrowing func byteCount() throws(FileError) -> Int {
        var status = stat()
        try SystemCall.retrying(self.path) { unsafe fstat(self.number, &status) }
        return Int(status.st_size)
    }

    /// Reads up to the end of the file, but at most `limit` bytes.
    borrowing func read(atMost limit: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(max(limit, 1), 65_536))
        while true {
            let count = try SystemCall.retrying(self.path) {
                unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(self.number, $0.baseAddress, $0.count) }
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw .tooLarge(self.path, limit: limit) }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// Returns when all written bytes have reached the device.
    borrowing func synchronize() throws(FileError) {
        try SystemCall.retrying(self.path) { fsync(self.number) }
    }
}
