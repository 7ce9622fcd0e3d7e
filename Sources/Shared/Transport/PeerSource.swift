internal import HostSystem
internal import NIOCore

/// A connection's origin for the per-source limits: an IPv4 address, the first 64 bits of an IPv6 address, or a user of
/// this machine.
///
/// Someone who owns one IPv6 address usually owns all 2⁶⁴ addresses in the network, so a limit per address would be
/// useless. All peers with an unknown address count as a single source.
package struct PeerSource: Hashable, Sendable, CustomStringConvertible {
    private enum Family: UInt8 {
        case unknown, ipv4, ipv6, user, privilegedUser
    }

    // These are numbers rather than an array of bytes, because the source of every accepted connection is looked up.
    private let family: Family
    /// The IPv4 address, the first half of the IPv6 one, or the user's id.
    private let number: UInt64

    init(_ address: SocketAddress?) {
        // The address follows the family and port in a sockaddr_in (ip(7)), and also the flow in a sockaddr_in6
        // (ipv6(7)).
        switch address {
        case .v4(let address):
            self.init(bytes: unsafe withUnsafeBytes(of: address.address) { unsafe Array($0[4..<8]) })
        case .v6(let address):
            let bytes = unsafe withUnsafeBytes(of: address.address) { unsafe Array($0[8..<24]) }
            self.init(bytes: IPAddressText.unmapped(bytes))
        case .unixDomainSocket, nil: self.init(family: .unknown, number: 0)
        }
    }

    /// Parses an IP address without a port; returns nil if the text is not an IP address.
    package init?(address: String) {
        guard let bytes = IPAddressText.bytes(of: address) else { return nil }
        self.init(bytes: bytes)
    }

    /// Creates the source of a user's connections on this machine.
    init(user: UInt32, serverUser: UInt32 = Accounts.currentUser) {
        let isPrivileged = user == 0 || user == serverUser
        self.init(family: isPrivileged ? .privilegedUser : .user, number: UInt64(user))
    }

    /// Whether the source is a user of this machine other than root and the server's user.
    var isOrdinaryUser: Bool { self.family == .user }
    /// Whether the source is root or the server's user, both of whom can stop the server anyway.
    var isPrivilegedUser: Bool { self.family == .privilegedUser }

    private init(bytes: [UInt8]) {
        let number = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.init(family: bytes.count == 4 ? .ipv4 : .ipv6, number: number)
    }

    private init(family: Family, number: UInt64) {
        self.family = family
        self.number = number
    }

    /// The first source in the same network: that of the IPv4 /24 or the IPv6 /48.
    ///
    /// A /48 is the largest network that a hosting company or a tunnel broker assigns without a question.
    var network: PeerSource {
        let hostBits: UInt64 = self.family == .ipv4 ? 8 : 16
        return PeerSource(family: self.family, number: (self.number >> hostBits) << hostBits)
    }

    /// An address that other programs can use for this source, which is the IPv4 address or the first address of the
    /// IPv6 network; nil if the source is unknown.
    package var address: String? {
        switch self.family {
        case .ipv4: self.description
        case .ipv6: String(self.description.dropLast("/64".count))
        case .unknown, .user, .privilegedUser: nil
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
        case .user, .privilegedUser: return "uid \(self.number)"
        case .unknown: return "unknown"
        }
    }
}
