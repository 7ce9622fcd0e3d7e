internal import Glibc
internal import Vocabulary

/// An error from reading a line.
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

    /// Reads a byte.
    ///
    /// Returns nil at the end of the input.
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
