internal import CHostSystem
internal import Glibc

/// Makes system calls, handling interruptions and error numbers in one place.
enum SystemCall {
    /// Returns the system's message for an error number, with its name: `permission denied (EACCES)`.
    static func text(of code: Int32) -> String {
        guard let words = unsafe strerror(code) else { return Self.name(of: code) }
        let text = unsafe String(cString: words)
        return "\(text.prefix(1).lowercased())\(text.dropFirst()) (\(Self.name(of: code)))"
    }

    /// The text of an errno(3) that reports a lack of room, with the way out.
    static func lackOfRoom(_ code: Int32) -> String {
        let wayOut =
            switch code {
            case EDQUOT: "raise this user's quota"
            case EFBIG: "raise the limit on file sizes (`ulimit -f`, LimitFSIZE=)"
            default: "free some space"
            }
        return "\(self.text(of: code)): \(wayOut)"
    }

    /// The name of an errno(3), such as `EACCES`.
    static func name(of code: Int32) -> String {
        unsafe host_system_error_name(code).map { unsafe String(cString: $0) } ?? "error \(code)"
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

    /// Writes all bytes to a stream.
    ///
    /// Returns the error number and the number of written bytes if it fails.
    ///
    /// - Parameter limit: The limit on waiting for a reader, or nil to wait for as long as it takes.
    static func write(
        _ bytes: [UInt8],
        to descriptor: Int32,
        _ limit: ReaderLimit? = nil
    ) -> (code: Int32, written: Int)? {
        var written = 0
        while written < bytes.count {
            var end = bytes.count
            if let limit {
                if let code = limit.failureToWait(for: descriptor) { return (code, written) }
                // More than this may block although poll(2) has found room (pipe(7)).
                end = min(end, written + Int(PIPE_BUF))
            }
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let part = unsafe UnsafeRawBufferPointer(rebasing: buffer[written..<end])
                return unsafe Glibc.write(descriptor, part.baseAddress, part.count)
            }
            switch (count, errno) {
            case (1..., _): written += count
            case (0, _): return (EIO, written)
            case (_, EINTR): continue
            case (_, EAGAIN):
                // Another process has made the shared pipe or terminal nonblocking.
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                if limit == nil { unsafe _ = poll(&wait, 1, -1) }
            case (_, let code): return (code, written)
            }
        }
        return nil
    }

    /// Converts an error number for a file to an error.
    ///
    /// Every error of a file in these programs is classified here, and only here.
    static func error(_ code: Int32, _ path: String) -> FileError {
        switch code {
        case ENOENT: .notFound(path)
        case EACCES, EPERM: .notAllowed(path, errno: code)
        case EROFS: .readOnly(path)
        case ENOSPC, EDQUOT, EFBIG: .diskFull(path, errno: code)
        case EEXIST: .exists(path)
        default: .other(path, errno: code)
        }
    }
}

/// A limit on waiting for the reader of a pipe or terminal.
struct ReaderLimit {
    /// The time in which the reader must take something, or nil for none.
    var time: Duration?
    /// A descriptor that becomes readable, or a pipe that is closed, when nothing should wait any longer.
    let end: Int32

    /// Waits until the stream takes bytes or reports an error.
    ///
    /// Returns nil in both cases, ETIMEDOUT after the time, and ECANCELED if nothing should wait any longer.
    func failureToWait(for descriptor: Int32) -> Int32? {
        var waits = [
            pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: self.end, events: Int16(POLLIN), revents: 0),
        ]
        let deadline = self.time.map { ContinuousClock.now + $0 }
        while true {
            let rest = deadline.map { Int32(clamping: Int((max(.zero, $0 - .now) / .milliseconds(1)).rounded(.up))) }
            let count = unsafe poll(&waits, nfds_t(waits.count), rest ?? -1)
            if count < 0, errno == EINTR { continue }
            if count < 0 || waits[0].revents != 0 { return nil }
            return count == 0 ? ETIMEDOUT : ECANCELED
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

    /// Opens a regular file, and nothing else.
    ///
    /// Threat: a promise depends on what is found under a name. A symbolic link gives the main file of a store another
    /// log than the one beside the link, a second name does the same, and a pipe or device may block forever.
    ///
    /// - Parameters:
    ///   - followingLinks: Whether a symbolic link or a file with several names is accepted, because no other file is
    ///     looked for beside it.
    ///   - hasOneName: Whether a file with several names is rejected, unless links are followed.
    init(
        regular path: String,
        flags: Int32,
        mode: mode_t = 0,
        followingLinks: Bool = false,
        hasOneName: Bool = true
    ) throws(FileError) {
        self.path = path
        self.number = try Self.number(ofRegular: path, flags, mode, followingLinks, hasOneName && !followingLinks)
    }

    private static func number(
        ofRegular path: String,
        _ flags: Int32,
        _ mode: mode_t,
        _ followingLinks: Bool,
        _ hasOneName: Bool
    ) throws(FileError) -> Int32 {
        var status = stat()
        // O_NONBLOCK: without it, opening a pipe waits for its other end. It has no effect on regular files.
        let all = flags | O_NONBLOCK | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let number: Int32
        do throws(FileError) {
            number = try SystemCall.retrying(path) { unsafe open(path, all, mode) }
        } catch {
            // A link, folder or socket cannot be opened in this way; its kind explains more than the error.
            let look = followingLinks ? unsafe stat(path, &status) : unsafe lstat(path, &status)
            guard look == 0, let kind = OddFile(status, hasOneName: false) else { throw error }
            throw .odd(path, kind)
        }
        do throws(FileError) {
            try SystemCall.retrying(path) { unsafe fstat(number, &status) }
            if let kind = OddFile(status, hasOneName: hasOneName) { throw .odd(path, kind) }
        } catch {
            close(number)
            throw error
        }
        return number
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
