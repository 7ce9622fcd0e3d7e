internal import NIOCore

/// Splits a stream of bytes into frames, without I/O.
///
/// Holds at most one frame and one read, since the handler stops reading while the receiver takes
/// no frames. A length is checked as soon as it has arrived, before memory is reserved for the
/// frame.
struct FrameDecoder {
    private var pending = ByteBuffer()

    /// Adds bytes of the stream.
    mutating func receive(_ bytes: ByteBuffer) {
        if self.pending.readableBytes == 0 {
            self.pending = bytes
        } else {
            self.pending.discardReadBytes()
            self.pending.writeImmutableBuffer(bytes)
        }
    }

    /// The next complete frame; nil until more bytes arrive.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return nil }
        guard length >= 1 else { throw .empty }
        guard length <= Frame.longestByteCount else { throw .tooLong(byteCount: Int(length)) }
        guard self.pending.readableBytes >= Frame.headerByteCount + Int(length) else { return nil }
        self.pending.moveReaderIndex(forwardBy: Frame.headerByteCount)
        let frame = self.pending.readBytes(length: Int(length))
        // An idle connection holds no memory here.
        if self.pending.readableBytes == 0 { self.pending = ByteBuffer() }
        return frame
    }

    /// True if bytes are held: after ``next()`` has returned nil, the beginning of an incomplete frame.
    var isMidFrame: Bool { self.pending.readableBytes > 0 }

    /// True if the held bytes begin a long frame, which is permitted for Register only.
    var isMidLongFrame: Bool {
        guard let length = self.pending.getInteger(at: self.pending.readerIndex, as: UInt32.self) else { return false }
        return length > Frame.longestOrdinaryByteCount
    }
}
