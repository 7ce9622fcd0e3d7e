internal import NIOCore

/// Checks a client's first TLS record before libssl sees the connection.
///
/// A connection costs libssl some twenty kilobytes and, with a ClientHello, a signature. We do not want to spend either
/// on a peer that sends nothing, or garbage, or one byte at a time. A connection is therefore only handed to libssl
/// once its first record is complete and has the right type. The content of the record is checked by libssl.
enum ClientHelloRecord {
    /// The status of the bytes received so far.
    enum Status: Equatable {
        /// These bytes cannot be the start of a TLS connection.
        case notTLS
        /// More bytes are needed.
        case incomplete
        /// A complete record of handshake messages, possibly followed by other bytes.
        case complete
    }

    /// The size of the type, version and length fields.
    private static let headerByteCount = 5
    /// RFC 8446 §5.1: 2¹⁴ bytes of plaintext.
    private static let longestByteCount = 16_384
    private static let handshake: UInt8 = 22
    private static let clientHello: UInt8 = 1

    /// Checks the bytes received so far.
    static func check(_ bytes: ByteBuffer) -> Status {
        let view = bytes.readableBytesView
        func byte(_ place: Int) -> UInt8? { place < view.count ? view[view.startIndex + place] : nil }
        if let type = byte(0), type != Self.handshake { return .notTLS }
        if let version = byte(1), version != 3 { return .notTLS }
        guard let high = byte(3), let low = byte(4) else { return .incomplete }
        let length = Int(high) << 8 | Int(low)
        guard (1...Self.longestByteCount).contains(length) else { return .notTLS }
        if let message = byte(5), message != Self.clientHello { return .notTLS }
        return view.count >= Self.headerByteCount + length ? .complete : .incomplete
    }
}
