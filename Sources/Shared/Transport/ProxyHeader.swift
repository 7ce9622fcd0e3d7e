/// What a balancer says of the connection that it passes on: PROXY protocol, version 2 (HAProxy's specification, §2.2).
///
/// Total over all bytes, with nothing of the network in it. A byte that no header has is refused as soon as it is there,
/// and a length before anything is kept for it, so that nobody can send much before it is known to be of no use.
struct ProxyHeader: Hashable {
    /// Where the connection comes from, as the balancer says.
    enum Origin: Hashable {
        /// The balancer itself: it looks whether somebody is there.
        case local
        /// A peer of which the balancer says nothing.
        case unknown
        /// 4 or 16 bytes, and the port.
        case address([UInt8], port: UInt16)
    }

    let origin: Origin
    /// Of the whole header; what follows is the peer's.
    let byteCount: Int

    /// Of the longest header with all that it may hold beside addresses, which nothing here looks at.
    ///
    /// The specification asks senders for no more than fits into a first segment, some 500 bytes.
    static let longestByteCount = 2_048
    /// What every header begins with; no TLS record and no text does.
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// Signature, version with command, family with transport, length.
    private static let fixedByteCount = 16

    /// Reads the header that the bytes begin with; nil while there is less than all of it.
    init?(of bytes: some RandomAccessCollection<UInt8>) throws(ProxyHeaderFault) {
        func byte(_ place: Int) -> UInt8? {
            place < bytes.count ? bytes[bytes.index(bytes.startIndex, offsetBy: place)] : nil
        }
        guard zip(bytes, Self.signature).allSatisfy({ $0 == $1 }) else { throw .notAHeader }
        guard let version = byte(12) else { return nil }
        guard version >> 4 == 2 else { throw .version }
        guard version & 0x0F <= 1 else { throw .command }
        let isLocal = version & 0x0F == 0
        guard let family = byte(13) else { return nil }
        let addressByteCount = try Self.addressByteCount(of: family, isLocal: isLocal)
        guard let high = byte(14), let low = byte(15) else { return nil }
        let length = Int(high) << 8 | Int(low)
        guard Self.fixedByteCount + length <= Self.longestByteCount else { throw .tooLong }
        // Two addresses and two ports.
        guard length >= 2 * addressByteCount + (addressByteCount > 0 ? 4 : 0) else { throw .tooShort }
        guard bytes.count >= Self.fixedByteCount + length else { return nil }
        self.byteCount = Self.fixedByteCount + length
        guard addressByteCount > 0 else {
            self.origin = isLocal ? .local : .unknown
            return
        }
        let address = bytes.dropFirst(Self.fixedByteCount).prefix(addressByteCount)
        let ports = bytes.dropFirst(Self.fixedByteCount + 2 * addressByteCount)
        let port = ports.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
        self.origin = .address(Array(address), port: port)
    }

    /// Bytes of one address; 0 where none counts.
    private static func addressByteCount(of family: UInt8, isLocal: Bool) throws(ProxyHeaderFault) -> Int {
        // The family of a connection of the balancer's own says nothing, whatever it is.
        guard !isLocal else { return 0 }
        switch family {
        case 0x00: return 0
        case 0x11: return 4
        case 0x21: return 16
        default: throw .family
        }
    }
}

/// Why bytes from a balancer are no PROXY protocol header of version 2; the connection ends.
///
/// The balancer is configured otherwise than this server, or it is none.
package enum ProxyHeaderFault: String, Error, Hashable, Sendable {
    /// Other bytes than the signature: TLS at once, version 1's text, or anything.
    case notAHeader = "not a header"
    /// Another version than 2.
    case version
    /// Neither LOCAL nor PROXY.
    case command
    /// Neither TCP over IPv4 or IPv6 nor unspecified.
    case family
    /// Longer than ``ProxyHeader/longestByteCount``.
    case tooLong = "too long"
    /// Shorter than the addresses that its family has.
    case tooShort = "too short"
}
