internal import NIOCore

/// Why bytes are not a frame, or the frame not one that may be sent; the connection ends.
package enum FrameViolation: Error, Hashable, Sendable {
    /// A length of zero.
    case empty
    /// A length over 65 536 bytes, or over 4 096 for another call than Register.
    case tooLong(byteCount: Int)
}

/// What frames look like: a big-endian 4-byte length, then as many bytes.
enum Frame {
    /// Bytes of the length.
    static let headerByteCount = 4
    /// Bytes of the longest frame, without its length.
    static let longestByteCount = 65_536
    /// Bytes of the longest frame of another call than Register.
    static let longestOrdinaryByteCount = 4_096

    /// Appends one frame to `buffer`.
    static func append(_ payload: [UInt8], to buffer: inout ByteBuffer) {
        precondition((1...Self.longestByteCount).contains(payload.count), "a frame has 1 … 65 536 bytes")
        buffer.writeInteger(UInt32(payload.count))
        buffer.writeBytes(payload)
    }
}

/// Cuts a stream of bytes into frames, with no I/O of its own.
///
/// Holds what has arrived and is not yet cut: at most a frame more than one read, since the reader stops reading while
/// nobody takes frames. A length is judged as soon as it is there, before anything is kept for it.
struct FrameDecoder {
    private var pending = ByteBuffer()

    /// More bytes of the stream.
    mutating func receive(_ bytes: ByteBuffer) {
        if self.pending.readableBytes == 0 {
            self.pending = bytes
        } else {
            self.pending.discardReadBytes()
            self.pending.writeImmutableBuffer(bytes)
        }
    }

    /// The next whole frame; nil until more bytes arrive.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 1 else { throw .empty }
        guard length <= Frame.longestByteCount else { throw .tooLong(byteCount: Int(length)) }
        guard self.pending.readableBytes >= Frame.headerByteCount + Int(length) else { return nil }
        self.pending.moveReaderIndex(forwardBy: Frame.headerByteCount)
        let frame = self.pending.readBytes(length: Int(length))
        // Memory is held for connections that are in the middle of something, not for idle ones.
        if self.pending.readableBytes == 0 { self.pending = ByteBuffer() }
        return frame
    }

    /// Whether bytes are held: after ``next()`` has returned nil, those of a frame that is not whole yet.
    var isMidFrame: Bool { self.pending.readableBytes > 0 }

    /// Whether they begin a long frame, which only a registration may be.
    var isMidLongFrame: Bool {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return false }
        return length > Frame.longestOrdinaryByteCount
    }
}
