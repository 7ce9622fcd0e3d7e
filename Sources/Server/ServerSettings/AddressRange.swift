internal import HostSystem

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
