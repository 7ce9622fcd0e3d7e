internal import NIOCore

/// The inbound half of a ``FrameHandler``: the bytes that are not frames yet and the readiness of
/// the receiver.
struct InboundFrames {
    /// The number of pieces in which a frame may arrive; the longest frame takes four TLS records.
    ///
    /// Threat: a call in records of one byte costs libssl as much as some hundreds of calls, and
    /// the per-source limits count calls.
    private static let maximumPieceCount = 256

    private var decoder = FrameDecoder()
    /// True if the receiver takes frames.
    private(set) var receiverHasRoom = true
    private var lastFrameIsLong = false
    /// The last frame is a long one and waits for the receiver.
    private var longFrameWaits = false
    /// The last result of ``longFrameChange()``.
    private var holdsLongFrame = false
    /// Reads since the last whole frame.
    private var pieceCount = 0

    /// Counts one read.
    mutating func countPiece() {
        self.pieceCount += 1
    }

    /// True if the current frame arrives in too many pieces.
    var hasTooManyPieces: Bool { self.pieceCount > Self.maximumPieceCount }

    /// Adds bytes of the stream.
    mutating func receive(_ bytes: ByteBuffer) {
        self.decoder.receive(bytes)
    }

    /// The next frame; nil until more bytes arrive or while the receiver has no room.
    ///
    /// A call of ``delivered(hasRoom:)`` follows.
    mutating func next() throws(FrameViolation) -> [UInt8]? {
        guard self.receiverHasRoom, let frame = try self.decoder.next() else { return nil }
        self.pieceCount = 0
        self.lastFrameIsLong = frame.count > Frame.longestOrdinaryByteCount
        return frame
    }

    /// Records the answer of the receiver to the last frame.
    mutating func delivered(hasRoom: Bool) {
        self.receiverHasRoom = hasRoom
        self.longFrameWaits = !hasRoom && self.lastFrameIsLong
    }

    /// Records that the receiver takes frames again; returns false if it already did.
    mutating func resume() -> Bool {
        guard !self.receiverHasRoom else { return false }
        self.receiverHasRoom = true
        self.longFrameWaits = false
        return true
    }

    /// True if the peer owes the rest of a frame, rather than the receiver being late.
    var awaitsRestOfFrame: Bool { self.receiverHasRoom && self.decoder.isMidFrame }

    /// Returns whether a long frame or its beginning is held, or nil if that has not changed since
    /// the last call.
    mutating func longFrameChange() -> Bool? {
        let isHeld = self.longFrameWaits || self.decoder.isMidFrame && self.decoder.isMidLongFrame
        guard isHeld != self.holdsLongFrame else { return nil }
        self.holdsLongFrame = isHeld
        return isHeld
    }
}
