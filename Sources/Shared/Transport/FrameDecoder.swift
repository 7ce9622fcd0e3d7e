internal import NIOCore

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
