internal import HostSystem
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
        guard let bytes = IPAddressText.bytes(of: address) else { return nil }
        self.init(bytes: bytes.count == 4 ? bytes : Array(bytes.prefix(8)))
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// An address that stands for the source where the next program counts: the IPv4 address itself, or the first one of
    /// the IPv6 network; nil where it is not known.
    public var address: String? {
        switch self.bytes.count {
        case 4: self.description
        case 8: String(self.description.dropLast("/64".count))
        default: nil
        }
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
