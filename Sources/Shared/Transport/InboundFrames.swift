internal import NIOCore

/// The inbound half of a ``FrameHandler``: bytes that do not make up a complete frame yet, and whether the receiver is
/// ready for more.
struct InboundFrames {
    /// The maximum number of pieces in which a frame may arrive.
    ///
    /// Even the longest frame only needs four TLS records.
    ///
    /// Threat: a call split into one-byte records costs libssl as much as several hundred calls, but counts as one
    /// towards the per-source limits.
    private static let maximumPieceCount = 256

    private var decoder = FrameDecoder()
    /// Whether the receiver is taking frames.
    private(set) var receiverHasRoom = true
    private var lastFrameIsLong = false
    /// Whether the last frame was a long one that the receiver has not taken yet.
    private var longFrameWaits = false
    /// The last result of ``longFrameChange()``.
    private var holdsLongFrame = false
    /// The number of reads since the last complete frame.
    private var pieceCount = 0

    /// Counts a read.
    mutating func countPiece() {
        self.pieceCount += 1
    }

    /// Whether the current frame is arriving in too many pieces.
    var hasTooManyPieces: Bool { self.pieceCount > Self.maximumPieceCount }

    /// Adds bytes from the stream.
    mutating func receive(_ bytes: ByteBuffer) {
        self.decoder.receive(bytes)
    }

    /// Returns the next frame, or nil if more bytes are needed or the receiver has no room.
    ///
    /// The caller must call ``delivered(hasRoom:)`` afterwards.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard self.receiverHasRoom, let frame = try self.decoder.next() else { return nil }
        self.pieceCount = 0
        self.lastFrameIsLong = frame.count > Frame.longestOrdinaryByteCount
        return frame
    }

    /// Records whether the receiver still has room after the last frame.
    mutating func delivered(hasRoom: Bool) {
        self.receiverHasRoom = hasRoom
        self.longFrameWaits = !hasRoom && self.lastFrameIsLong
    }

    /// Records that the receiver is taking frames again.
    ///
    /// Returns false if it never stopped.
    mutating func resume() -> Bool {
        guard !self.receiverHasRoom else { return false }
        self.receiverHasRoom = true
        self.longFrameWaits = false
        return true
    }

    /// Whether we are waiting for the peer to send the rest of a frame, as opposed to waiting for the receiver.
    var awaitsRestOfFrame: Bool { self.receiverHasRoom && self.decoder.isMidFrame }

    /// Returns whether all or part of a long frame is held, if that has changed since the last call.
    ///
    /// Returns nil if it has not changed.
    mutating func longFrameChange() -> Bool? {
        let isHeld = self.longFrameWaits || self.decoder.isMidFrame && self.decoder.isMidLongFrame
        guard isHeld != self.holdsLongFrame else { return nil }
        self.holdsLongFrame = isHeld
        return isHeld
    }
}
