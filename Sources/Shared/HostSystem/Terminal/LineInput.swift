internal import Glibc

/// The reason why no line was read.
package enum InputError: Error, Hashable, Sendable {
    /// The input ended before the line did: treat it as a cancellation.
    case ended
    /// The line is longer than allowed; its rest stays unread.
    case tooLong
    /// A hidden line was requested, but the input is not a terminal: tell the user another way to pass the secret.
    case notATerminal
    /// A signal arrived that did not end the process: stop asking.
    case interrupted(signal: Int32)
    /// A system call failed, with its errno.
    case failed(errno: Int32)
}

/// Input lines that may be secret: lent to the caller, then wiped.
package enum LineInput {
    /// Reads one line from a descriptor and lends it to `body` without its end.
    ///
    /// It reads byte by byte, so that the next line remains in the descriptor.
    package static func withLine<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
        _ body: (RawSpan) -> Result
    ) throws(InputError) -> Result {
        try self.withLineBuffer(from: descriptor, atMost: limit) { $0.withBytes(body) }
    }

    /// Reads a line as above and lends the buffer, which the caller can inspect byte by byte.
    ///
    /// A line that is too long is read to its end, so that the next line stays whole.
    package static func withLineBuffer<Result: ~Copyable>(
        from descriptor: Int32,
        atMost limit: Int,
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
            if !line.append(byte) { isTooLong = true }
        }
        if isTooLong { throw .tooLong }
        return body(line)
    }

    /// Reads one byte; nil at the end of the input.
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
