internal import Glibc

/// Why no line was read.
package enum InputError: Error, Hashable, Sendable {
    /// The input ended before a line did: treat it as a cancellation.
    case ended
    /// Longer than allowed; the rest of it stays unread.
    case tooLong
    /// A hidden line was asked of something that is not a terminal: name another way to pass it.
    case notATerminal
    /// A signal came that did not end the process: stop asking.
    case interrupted(signal: Int32)
    /// The system refused, by its errno.
    case failed(errno: Int32)
}

/// Lines that may be secret: lent to the caller, then wiped.
package enum LineInput {
    /// Reads one line from a descriptor, byte by byte so that the next line stays there to be read, and lends it to
    /// `body` without its end.
    package static func withLine<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        try self.withLineBuffer(from: descriptor, atMost: limit) { $0.withBytes(body) }
    }

    /// The same, lent as the buffer it was read into, which can be looked at byte by byte.
    ///
    /// A line that is too long is read to its end all the same, so that the next one stays whole.
    package static func withLineBuffer<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (borrowing WipedBuffer) -> Result
    ) throws(InputError) -> Result {
        var line = WipedBuffer(capacity: limit)
        var isTooLong = false
        while true {
            guard let byte = try Self.readByte(descriptor) else {
                // What ends without a line feed counts as a line where there is something in it.
                if line.isEmpty { throw .ended }
                break
            }
            if byte == 0x0A { break }
            if !line.append(byte) { isTooLong = true }
        }
        if isTooLong { throw .tooLong }
        return body(line)
    }

    /// Nil at the end of the input.
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
