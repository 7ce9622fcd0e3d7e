internal import Glibc
internal import Vocabulary

/// The user's terminal.
package enum Terminal {
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// Returns the width of a terminal, or nil if the descriptor is not a terminal.
    package static func columns(of descriptor: Int32 = 1) -> Int? { self.size(of: descriptor)?.columns }

    /// Returns the size of a terminal, or nil if the terminal does not report it.
    package static func size(of descriptor: Int32) -> TerminalSize? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return nil
        }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Reads a line without echoing it, and passes it to `body` without the line feed.
    ///
    /// The terminal is always restored: after the line, at the end of the input, after an error, and on signals that
    /// end or stop the process. These signals then have their usual effect. Only one call may run at a time.
    package static func withHiddenLine<Result: ~Copyable>(
        prompt: String,
        from descriptor: Int32 = 0,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        guard self.isTerminal(descriptor) else { throw .notATerminal }
        var line = WipedBuffer(capacity: limit)
        while true {
            let signals = try CaughtSignals()
            let echo = try EchoOff(descriptor)
            StandardStreams.writeError(prompt)
            let event = try self.readLine(into: &line, from: descriptor, signals: signals)
            echo.restore()
            signals.release()
            switch event {
            case .line: return line.withBytes(body)
            case .signal(let number):
                line.removeAll()
                StandardStreams.writeError("\n")
                CaughtSignals.raiseHere(number)
                // We only get here if the process was stopped and continued, or if it has its own signal handler.
                if number != SIGTSTP { throw .interrupted(signal: number) }
            }
        }
    }

    private enum Event {
        case line
        case signal(Int32)
    }

    private static func readLine(
        into line: inout WipedBuffer,
        from descriptor: Int32,
        signals: borrowing CaughtSignals
    ) throws(InputError) -> Event {
        while true {
            var ready = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.readEnd, events: Int16(POLLIN), revents: 0),
            ]
            let result = unsafe poll(&ready, 2, -1)
            if result < 0 {
                let code = errno
                if code == EINTR { continue }
                throw .failed(errno: code)
            }
            if ready[1].revents != 0, let number = CaughtSignals.next(from: signals.readEnd) { return .signal(number) }
            if ready[0].revents == 0 { continue }
            var byte: UInt8 = 0
            let count = unsafe read(descriptor, &byte, 1)
            if count < 0 {
                let code = errno
                if code == EINTR || code == EAGAIN { continue }
                throw .failed(errno: code)
            }
            if count == 0 { throw .ended }
            if byte == 0x0A { return .line }
            guard line.append(byte) else {
                tcflush(descriptor, TCIFLUSH)
                throw .tooLong
            }
        }
    }
}

/// The size of a terminal in columns and rows of characters.
package struct TerminalSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}

/// Turns off the terminal's echo for the lifetime of the value.
private struct EchoOff: ~Copyable {
    private let descriptor: Int32
    private var saved = termios()

    init(_ descriptor: Int32) throws(InputError) {
        self.descriptor = descriptor
        guard unsafe tcgetattr(descriptor, &self.saved) == 0 else { throw .failed(errno: errno) }
        var silent = self.saved
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ICANON | ISIG | ECHONL)
        // Flush the input: bytes typed before the prompt cannot be an answer to it.
        guard unsafe tcsetattr(descriptor, TCSAFLUSH, &silent) == 0 else { throw .failed(errno: errno) }
    }

    deinit {
        var saved = self.saved
        unsafe tcsetattr(self.descriptor, TCSANOW, &saved)
    }

    consuming func restore() {}
}

package enum InputError: Error, Hashable, Sendable {
    /// The input ended before the end of the line.
    ///
    /// Treat this as a cancellation.
    case ended
    /// The line is too long.
    ///
    /// The rest of it has not been read.
    case tooLong
    /// A hidden line was requested, but the input is not a terminal.
    ///
    /// Tell the user about another way to pass the secret.
    case notATerminal
    /// A signal arrived that did not end the process.
    ///
    /// Stop asking.
    case interrupted(signal: Int32)
    /// A system call failed, with its errno.
    case failed(errno: Int32)
}

/// Reads lines that may be secret.
///
/// The caller only borrows a line, which is wiped after that.
package enum LineInput {
    /// Reads a line from a descriptor and passes it to `body` without the line feed.
    ///
    /// This reads one byte at a time, so that it does not read any part of the next line.
    package static func withLine<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        try self.withLineBuffer(from: descriptor, atMost: limit) { $0.withBytes(body) }
    }

    /// The bytes that are read in search of a line, so that a source without end, such as `/dev/zero`, is given up.
    private static let longestSearch = 1 << 20

    /// Like ``withLine(from:atMost:_:)``, but skips lines that have only blanks.
    ///
    /// Fails with EFBIG if the source has no end of a line, or no line, within a mebibyte.
    package static func withTextLine<Result>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        var room = self.longestSearch
        while true {
            let result: Result? = try self.withLineBuffer(from: descriptor, atMost: limit, &room) { line in
                (0..<line.count).allSatisfy { SecretText.isBlank(line[$0]) } ? nil : line.withBytes(body)
            }
            if let result { return result }
        }
    }

    /// Like ``withLine(from:atMost:_:)``, but passes the buffer, which the caller can inspect byte by byte.
    ///
    /// If the line is too long, it is still read to the end, so that the next read starts with the next line.
    package static func withLineBuffer<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (borrowing WipedBuffer) -> Result
    ) throws(InputError) -> Result {
        var room = Int.max
        return try self.withLineBuffer(from: descriptor, atMost: limit, &room, body)
    }

    private static func withLineBuffer<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ room: inout Int,
        _ body: (borrowing WipedBuffer) -> Result
    ) throws(InputError) -> Result {
        var line = WipedBuffer(capacity: limit)
        var isTooLong = false
        while true {
            guard let byte = try Self.readByte(descriptor) else {
                // Bytes without a final line feed count as a line.
                if line.isEmpty { throw .ended }
                break
            }
            if byte == 0x0A { break }
            room -= 1
            guard room > 0 else { throw .failed(errno: EFBIG) }
            if !line.append(byte) { isTooLong = true }
        }
        if isTooLong { throw .tooLong }
        return body(line)
    }

    /// Reads a byte; returns nil at the end of the input.
    private static func readByte(_ descriptor: Int32) throws(InputError) -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(descriptor, &byte, 1)
            if count == 1 { return byte }
            if count == 0 { return nil }
            let code = errno
            if code != EINTR { throw .failed(errno: code) }
        }
    }
}

/// A fixed-size buffer whose bytes are wiped when they are removed or the buffer goes out of scope.
///
/// This is used for typed bytes. It never grows, so no stale copies are left in memory.
@safe package struct WipedBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(capacity: Int) {
        unsafe self.storage = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe Self.wipe(self.storage)
        unsafe self.storage.deallocate()
    }

    package var isEmpty: Bool { self.count == 0 }

    /// The number of free bytes.
    package var room: Int { unsafe self.storage.count - self.count }

    /// Removes and wipes all bytes.
    package mutating func removeAll() {
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[..<self.count]))
        self.count = 0
    }

    /// Removes and wipes the last byte, if any.
    package mutating func removeLast() {
        guard self.count > 0 else { return }
        self.count -= 1
        unsafe self.storage[self.count] = 0
    }

    /// Removes the first `number` bytes and moves the remaining ones to the front.
    mutating func removeFirst(_ number: Int) {
        let rest = self.count - number
        for index in 0..<rest { unsafe self.storage[index] = self.storage[index + number] }
        unsafe Self.wipe(UnsafeMutableRawBufferPointer(rebasing: self.storage[rest..<self.count]))
        self.count = rest
    }

    /// Appends a byte; returns false if the buffer is full.
    package mutating func append(_ byte: UInt8) -> Bool {
        guard unsafe self.count < self.storage.count else { return false }
        unsafe self.storage[self.count] = byte
        self.count += 1
        return true
    }

    /// Reads bytes into the free part of the buffer with read(2), and returns the result of the call.
    mutating func fill(from descriptor: Int32) -> Int {
        let free = unsafe UnsafeMutableRawBufferPointer(rebasing: self.storage[self.count...])
        let count = unsafe read(descriptor, free.baseAddress, free.count)
        if count > 0 { self.count += count }
        return count
    }

    /// Calls `body` with the bytes.
    package borrowing func withBytes<Result: ~Copyable>(_ body: (RawSpan) -> Result) -> Result {
        body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[..<self.count]).bytes)
    }

    /// Calls `body` with a range of the bytes.
    package borrowing func withBytes<Result: ~Copyable>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
        precondition(range.lowerBound >= 0 && range.upperBound <= self.count, "the range exceeds the bytes")
        return body(unsafe UnsafeRawBufferPointer(rebasing: self.storage[range]).bytes)
    }

    /// The byte at `index`.
    package subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < self.count, "the index exceeds the bytes")
        return unsafe self.storage[index]
    }

    /// Wipes memory using explicit_bzero(3), which cannot be optimized away.
    private static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
    }
}
