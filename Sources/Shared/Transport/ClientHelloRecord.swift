internal import NIOCore

/// The first TLS record of a client, before anything is made for the connection.
///
/// What libssl would find out costs it some twenty kilobytes and, with a client hello, a signature. Who sends nothing,
/// other bytes, or a byte now and then costs neither: libssl sees a connection once its first record is whole and of the
/// right kind. What is in the record is libssl's to judge.
enum ClientHelloRecord {
    /// What the bytes so far are.
    enum Finding: Equatable {
        /// No client of TLS begins so.
        case notTLS
        /// More has to come.
        case incomplete
        /// A record of handshake messages, whole; anything may follow.
        case whole
    }

    /// Type, version and length.
    private static let headerByteCount = 5
    /// RFC 8446 §5.1: 2¹⁴ bytes of plain text.
    private static let longestByteCount = 16_384
    private static let handshake: UInt8 = 22
    private static let clientHello: UInt8 = 1

    /// Looks at the bytes that have come.
    static func find(in bytes: ByteBuffer) -> Finding {
        let view = bytes.readableBytesView
        func byte(_ place: Int) -> UInt8? { place < view.count ? view[view.startIndex + place] : nil }
        if let type = byte(0), type != Self.handshake { return .notTLS }
        if let version = byte(1), version != 3 { return .notTLS }
        guard let high = byte(3), let low = byte(4) else { return .incomplete }
        let length = Int(high) << 8 | Int(low)
        guard (1...Self.longestByteCount).contains(length) else { return .notTLS }
        if let message = byte(5), message != Self.clientHello { return .notTLS }
        return view.count >= Self.headerByteCount + length ? .whole : .incomplete
    }
}
