package import ConfigText
internal import HostSystem

// Settings for timeouts, capacities and rates.
extension SettingTable {
    static let proxyProtocol: [any SettingDeclaration] = [Self.balancers]

    package static let balancers = Setting(
        "proxy-protocol.from",
        .list(of: .network),
        standard: [],
        isLive: true,
        "Addresses of load balancers. Their connections must begin with a PROXY protocol header of version 2, before "
            + "TLS. Limits, the log and `admin sessions` use the source address in that header. From any other address "
            + "such a header closes the connection. List only load balancers: a listed address can claim any source."
    )
    package static let handshakeLimit = Setting(
        "limits.handshake",
        .duration(.milliseconds(100) ... .seconds(300)),
        standard: .seconds(10),
        "Timeout of a TLS handshake."
    )
    package static let frameLimit = Setting(
        "limits.frame",
        .duration(.milliseconds(100) ... .seconds(300)),
        standard: .seconds(10),
        "Timeout of a frame, from its first to its last byte, and of a peer that does not read its replies."
    )
    package static let idleWithoutSession = Setting(
        "limits.idle-without-session",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(15),
        "Timeout of a connection without a session if no useful call is answered on it. A wallet opens its session as "
            + "soon as it is connected."
    )
    package static let idleInEnrollment = Setting(
        "limits.idle-in-enrollment",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(60),
        "The same timeout once an enrollment has begun on the connection: a phone needs some seconds for its evidence."
    )
    package static let idleWithSession = Setting(
        "limits.idle-with-session",
        .duration(.seconds(1) ... .seconds(86_400)),
        standard: .seconds(1800),
        "Timeout of a connection with a session if no useful call is answered on it."
    )
    package static let connections = Setting(
        "limits.connections",
        .number(1...1_000_000),
        standard: 10_000,
        "Highest number of concurrent connections. Above it a connection without a session, or with an older one of "
            + "its wallet, is closed for each new one. Each connection uses a file descriptor."
    )
    package static let connectionsPerSource = Setting(
        "limits.connections-per-source",
        .number(0...1_000_000),
        standard: 2_500,
        isLive: true,
        "Highest number of concurrent connections from one IPv4 address or one IPv6 /64 network; 0 for no limit. "
            + "Phones of one mobile operator share addresses. Behind a load balancer all connections come from its few "
            + "addresses: set `proxy-protocol.from`, or set 0 and limit sources in front of the load balancer."
    )
    package static let handshakes = Setting(
        "limits.handshakes",
        .number(10...1_000_000),
        standard: 1_000,
        "Highest number of connections with an unfinished TLS handshake. Above it one of them is closed for each new "
            + "one, so that new clients are served and silent ones do not occupy a place."
    )
    package static let longFrames = Setting(
        "limits.long-frames",
        .number(10...1_000_000),
        standard: 500,
        "Highest number of connections with an unfinished message of more than 4,096 bytes; only a registration is "
            + "that long. Above it one of them is closed for each new one. Each may occupy about 130 KiB."
    )
    package static let framesPerSource = Setting(
        "limits.frames-per-source",
        .number(0...1_000_000),
        standard: 500,
        isLive: true,
        "Calls per second from one IPv4 address or one IPv6 /64 network; 0 for no limit. Further calls are answered "
            + "with rate-limited and not processed. Calls within sessions and all other calls have separate limits, so "
            + "that clients without a wallet cannot use up the rate of wallets. An unlock is three calls."
    )
    package static let frameBurstPerSource = Setting(
        "limits.frame-burst-per-source",
        .number(1...1_000_000),
        standard: 5_000,
        isLive: true,
        "Number of calls that one source may make at once after a long enough pause."
    )
    package static let enrollmentsPerSource = Setting(
        "limits.enrollments-per-source",
        .number(0...1_000_000),
        standard: 60,
        isLive: true,
        "BeginEnrollment and Register calls per minute from one source; 0 for no limit. A registration takes one of "
            + "each; checking its evidence costs as much as several PIN checks."
    )
    package static let enrollmentBurstPerSource = Setting(
        "limits.enrollment-burst-per-source",
        .number(2...1_000_000),
        standard: 300,
        isLive: true,
        "Number of such calls that one source may make at once, as when many users behind one address set up the app "
            + "on one day."
    )
}

extension Kind where Value == AddressRange {
    /// A single address or a network.
    static var network: Kind {
        .word(
            "network",
            "an address or network, such as 127.0.0.1, 10.0.0.0/8 or 'fd00::/8'",
            // In a YAML list, a value that starts with a colon must be quoted.
            read: { AddressRange($0.replacing("'", with: "")) },
            write: { $0.description.contains(":") ? "'\($0)'" : $0.description }
        )
    }
}

/// An IPv4 or IPv6 network, such as `10.0.0.0/8`, or a single address, such as `::1`.
package struct AddressRange: Hashable, Sendable, CustomStringConvertible {
    /// The address, 4 or 16 bytes long.
    ///
    /// All bits after the prefix are zero.
    private let bytes: [UInt8]
    /// The number of leading bits to compare.
    private let prefixLength: Int
    /// The text that the range was parsed from.
    package let description: String

    static let loopback4 = AddressRange(bytes: [127, 0, 0, 1], prefixLength: 32, description: "127.0.0.1")
    static let loopback6 = AddressRange(
        bytes: [UInt8](repeating: 0, count: 15) + [1],
        prefixLength: 128,
        description: "::1"
    )

    private init(bytes: [UInt8], prefixLength: Int, description: String) {
        self.bytes = bytes
        self.prefixLength = prefixLength
        self.description = description
    }

    /// Parses a network.
    ///
    /// Returns nil if any bit after the prefix is set, which is probably a mistake.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let bytes = IPAddressText.bytes(of: String(parts[0])) else { return nil }
        var length = bytes.count * 8
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(parts[1]),
                number <= length
            else { return nil }
            length = number
        }
        self.init(bytes: bytes, prefixLength: length, description: text)
        guard self.masked(bytes) == bytes else { return nil }
    }

    /// Returns whether the network contains the given address, which must not include a port.
    ///
    /// An IPv4 address mapped into IPv6 is compared as an IPv4 address.
    package func contains(_ address: String) -> Bool {
        guard let bytes = IPAddressText.bytes(of: address), bytes.count == self.bytes.count else { return false }
        return self.masked(bytes) == self.bytes
    }

    private func masked(_ bytes: [UInt8]) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let bits = min(max(self.prefixLength - index * 8, 0), 8)
            return byte & ~UInt8(truncatingIfNeeded: 0xFF >> bits)
        }
    }
}
