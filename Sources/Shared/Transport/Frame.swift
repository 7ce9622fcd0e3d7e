internal import NIOCore

/// The format of a frame: a 4-byte big-endian length followed by that many bytes.
enum Frame {
    /// The size of the length field, in bytes.
    static let headerByteCount = 4
    /// The maximum size of a frame in bytes, not counting the length field.
    static let longestByteCount = 65_536
    /// The maximum size of a frame in bytes for any call except Register.
    static let longestOrdinaryByteCount = 4_096

    /// Appends one frame to `buffer`.
    static func append(_ payload: [UInt8], to buffer: inout ByteBuffer) {
        precondition((1...Self.longestByteCount).contains(payload.count), "a frame has 1 … 65 536 bytes")
        buffer.writeInteger(UInt32(payload.count))
        buffer.writeBytes(payload)
    }
}

/// The received bytes are not a valid frame.
///
/// The connection is closed.
package enum FrameViolation: Error, Hashable, Sendable {
    /// The length is zero.
    case empty
    /// The length is over 65 536 bytes, or over 4 096 for a call other than Register.
    case tooLong(byteCount: Int)
}

/// Splits a stream of bytes into frames without performing any I/O.
///
/// The decoder never holds more than one frame and one read, because the handler stops reading while the receiver is
/// not taking frames. The length is checked as soon as it arrives, before any memory is reserved for the frame.
struct FrameDecoder {
    private var pending = ByteBuffer()

    /// Adds bytes from the stream.
    mutating func receive(_ bytes: ByteBuffer) {
        if self.pending.readableBytes == 0 {
            self.pending = bytes
        } else {
            self.pending.discardReadBytes()
            self.pending.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next complete frame, or nil if more bytes are needed.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 1 else { throw .empty }
        guard length <= Frame.longestByteCount else { throw .tooLong(byteCount: Int(length)) }
        guard self.pending.readableBytes >= Frame.headerByteCount + Int(length) else { return nil }
        self.pending.moveReaderIndex(forwardBy: Frame.headerByteCount)
        let frame = self.pending.readBytes(length: Int(length))
        // Free the buffer so that an idle connection does not hold any memory here.
        if self.pending.readableBytes == 0 { self.pending = ByteBuffer() }
        return frame
    }

    /// Whether any bytes have not been read yet.
    ///
    /// Once ``next()`` has returned nil, these are the start of an incomplete frame.
    var isMidFrame: Bool { self.pending.readableBytes > 0 }

    /// Whether the unread bytes are the start of a long frame, which is permitted only for Register.
    var isMidLongFrame: Bool {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return false }
        return length > Frame.longestOrdinaryByteCount
    }
}
