internal import HostSystem
internal import NIOCore

/// Where a connection comes from, as far as limits are concerned: an IPv4 address, or the first 64 bits of an IPv6 one.
///
/// Whoever has one IPv6 address has the 2⁶⁴ of its network, so that a limit for each address would be none. Peers whose
/// address is not known are one source together.
package struct PeerSource: Hashable, Sendable, CustomStringConvertible {
    private enum Family: UInt8 {
        case unknown, ipv4, ipv6
    }

    // Numbers and not bytes in an array: sources are looked up whenever a connection is accepted.
    private let family: Family
    /// The IPv4 address, or the first half of the IPv6 one.
    private let number: UInt64

    init(_ address: SocketAddress?) {
        self = address?.ipAddress.flatMap { PeerSource(address: $0) } ?? PeerSource(family: .unknown, number: 0)
    }

    /// The source of an IP address as text, without a port; nil where it is none.
    package init?(address: String) {
        guard let bytes = IPAddressText.bytes(of: address) else { return nil }
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(family: bytes.count == 4 ? .ipv4 : .ipv6, number: number)
    }

    private init(family: Family, number: UInt64) {
        self.family = family
        self.number = number
    }

    /// An address that stands for the source where the next program counts: the IPv4 address itself, or the first one of
    /// the IPv6 network; nil where it is not known.
    package var address: String? {
        switch self.family {
        case .ipv4: self.description
        case .ipv6: String(self.description.dropLast("/64".count))
        case .unknown: nil
        }
    }

    package var description: String {
        switch self.family {
        case .ipv4:
            return stride(from: 24, through: 0, by: -8).map { "\(self.number >> UInt64($0) & 0xFF)" }
                .joined(separator: ".")
        case .ipv6:
            let groups = stride(from: 48, through: 0, by: -16).map { shift in
                String(self.number >> UInt64(shift) & 0xFFFF, radix: 16)
            }
            return groups.joined(separator: ":") + "::/64"
        case .unknown: return "unknown"
        }
    }
}
