internal import Glibc

/// Parses IP addresses in text form.
package enum IPAddressText {
    /// Returns the 4 or 16 bytes of an address without a port, or nil if the text is anything else.
    ///
    /// A mapped IPv4 address is converted as by ``unmapped(_:)``.
    package static func bytes(of text: String) -> [UInt8]? {
        if let bytes = Self.bytes(of: text, family: AF_INET, count: 4) { return bytes }
        return Self.bytes(of: text, family: AF_INET6, count: 16).map(Self.unmapped)
    }

    /// Returns whether the text is an IPv6 address without brackets, port and zone.
    static func isIPv6(_ text: String) -> Bool { Self.bytes(of: text, family: AF_INET6, count: 16) != nil }

    /// Returns the bytes of an IPv6 address, or the 4 bytes of an IPv4 address mapped into IPv6, ::ffff:a.b.c.d
    /// (RFC 4291 §2.5.5.2), because that is how sockets for both families report IPv4 peers.
    package static func unmapped(_ bytes: [UInt8]) -> [UInt8] {
        let isMapped = bytes.prefix(12).elementsEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        return isMapped ? Array(bytes.suffix(4)) : bytes
    }

    private static func bytes(of text: String, family: Int32, count: Int) -> [UInt8]? {
        // inet_pton(3) would stop at a zero byte.
        guard !text.utf8.contains(0) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
    }
}
