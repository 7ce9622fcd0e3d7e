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
