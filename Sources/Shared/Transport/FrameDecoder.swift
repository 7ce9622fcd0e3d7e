internal import NIOCore

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
