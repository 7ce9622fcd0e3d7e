/// The header that a load balancer uses to send the client's address, in version 2 of the PROXY protocol (HAProxy's
/// specification, §2.2).
///
/// Parsing does not perform any I/O and has a defined result for all inputs. Invalid bytes are rejected as soon as they
/// arrive, and an invalid length is rejected before any memory is reserved for it, so a peer cannot send much before we
/// know that the header is invalid.
struct ProxyHeader: Hashable {
    /// The origin of the connection, according to the load balancer.
    enum Origin: Hashable {
        /// The load balancer itself, which is doing a health check.
        case local
        /// A peer whose address the load balancer did not send.
        case unknown
        /// A port and an address of 4 or 16 bytes.
        case address([UInt8], port: UInt16)
    }

    let origin: Origin
    /// The length of the entire header, after which the peer's bytes follow.
    let byteCount: Int

    /// The maximum length of a header, including its optional fields, which are ignored.
    ///
    /// According to the specification, a sender must not exceed the size of the first segment, some 500 bytes.
    static let longestByteCount = 2_048
    /// The first bytes of every header.
    ///
    /// Neither a TLS record nor text can start with them.
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    /// The size of the signature, the version and command, the family and transport, and the length.
    private static let fixedByteCount = 16

    /// Parses the header at the start of the bytes; returns nil if it is incomplete.
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

    /// Returns the length of an address in bytes, or 0 if the addresses in the header are to be ignored.
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

/// The bytes sent by a load balancer are not a PROXY protocol version 2 header.
///
/// The connection is closed. Either the load balancer's configuration does not match the server's, or the peer is not a
/// load balancer.
package enum ProxyHeaderFault: String, Error, Hashable, Sendable {
    /// The signature is missing.
    ///
    /// The peer has sent TLS, a version 1 header in text form, or something else.
    case notAHeader = "not a header"
    /// The version is not 2.
    case version
    /// The command is neither LOCAL nor PROXY.
    case command
    /// The family is neither TCP over IPv4 or IPv6 nor unspecified.
    case family
    /// The header is longer than ``ProxyHeader/longestByteCount``.
    case tooLong = "too long"
    /// The header is too short for the addresses of its family.
    case tooShort = "too short"
}
