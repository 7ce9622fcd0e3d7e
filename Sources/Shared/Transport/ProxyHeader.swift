/// The header in which a load balancer names the client: PROXY protocol, version 2 (HAProxy's
/// specification, §2.2).
///
/// A total function of the bytes, without I/O. An invalid byte is rejected as soon as it arrives,
/// and a length before memory is reserved for it, so that a peer cannot send much before the header
/// is known to be invalid.
struct ProxyHeader: Hashable {
    /// The origin of the connection, according to the load balancer.
    enum Origin: Hashable {
        /// The load balancer itself, for a health check.
        case local
        /// A peer whose address the load balancer does not state.
        case unknown
        /// An address of 4 or 16 bytes, and the port.
        case address([UInt8], port: UInt16)
    }

    let origin: Origin
    /// The length of the whole header; the peer's bytes follow.
    let byteCount: Int

    /// The limit of a header with its optional fields, which are ignored.
    ///
    /// The specification limits senders to the size of a first segment, some 500 bytes.
    static let longestByteCount = 2_048
    /// The first bytes of every header; no TLS record and no text begins with them.
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The signature, version with command, family with transport, and length.
    private static let fixedByteCount = 16

    /// Reads the header at the beginning of the bytes; returns nil while it is incomplete.
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

    /// The length of one address; 0 if the header's addresses are ignored.
    private static func addressByteCount(of family: UInt8, isLocal: Bool) throws(ProxyHeaderFault) -> Int {
        // The specification requires receivers to ignore the family of a LOCAL command.
        guard !isLocal else { return 0 }
        switch family {
        case 0x00: return 0
        case 0x11: return 4
        case 0x21: return 16
        default: throw .family
        }
    }
}

/// The reason that bytes from a load balancer are not a PROXY protocol header of version 2; the
/// connection is closed.
///
/// The load balancer's configuration does not match the server's, or the peer is not a load balancer.
package enum ProxyHeaderFault: String, Error, Hashable, Sendable {
    /// The signature is missing: the peer began with TLS, the text of version 1, or other bytes.
    case notAHeader = "not a header"
    /// The version is not 2.
    case version
    /// The command is neither LOCAL nor PROXY.
    case command
    /// The family is neither TCP over IPv4 or IPv6 nor unspecified.
    case family
    /// The header is longer than ``ProxyHeader/longestByteCount``.
    case tooLong = "too long"
    /// The header is shorter than the addresses of its family.
    case tooShort = "too short"
}
