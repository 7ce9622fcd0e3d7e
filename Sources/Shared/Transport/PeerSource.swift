internal import Glibc
internal import NIOCore

/// Where a connection comes from, as far as limits are concerned: an IPv4 address, or the first 64 bits of an IPv6 one.
///
/// Whoever has one IPv6 address has the 2⁶⁴ of its network, so that a limit for each address would be none. Peers whose
/// address is not known are one source together.
public struct PeerSource: Hashable, Sendable, CustomStringConvertible {
    /// Four, eight or no bytes.
    private let bytes: [UInt8]

    init(_ address: SocketAddress?) {
        self = address?.ipAddress.flatMap { PeerSource(address: $0) } ?? PeerSource(bytes: [])
    }

    /// The source of an IP address as text, without a port; nil where it is none.
    public init?(address: String) {
        if let bytes = Self.bytes(of: address, family: AF_INET, count: 4) {
            self.init(bytes: bytes)
        } else if let bytes = Self.bytes(of: address, family: AF_INET6, count: 16) {
            // A socket for both families has IPv4 peers as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2).
            let isMapped = bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            self.init(bytes: isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8)))
        } else {
            return nil
        }
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private static func bytes(of address: String, family: Int32, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe inet_pton(family, address, &bytes) == 1 ? bytes : nil
    }

    public var description: String {
        switch self.bytes.count {
        case 4: return self.bytes.map(String.init).joined(separator: ".")
        case 8:
            let groups = stride(from: 0, to: 8, by: 2).map { index in
                String(UInt16(self.bytes[index]) << 8 | UInt16(self.bytes[index + 1]), radix: 16)
            }
            return groups.joined(separator: ":") + "::/64"
        default: return "unknown"
        }
    }
}
