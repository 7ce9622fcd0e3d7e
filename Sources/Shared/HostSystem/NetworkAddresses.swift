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

/// The addresses that a server listens on, and plain reasons why it cannot.
package enum ListenAddress {
    /// Whether this machine has IPv6 (ipv6(7)).
    package static var machineHasIPv6: Bool {
        let descriptor = socket(AF_INET6, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        close(descriptor)
        return true
    }

    /// Returns the address to listen on, which is that of all IPv4 interfaces if `::` is configured on a machine
    /// without IPv6.
    ///
    /// So one configuration serves both families wherever they exist.
    package static func host(_ configured: String, hasIPv6: Bool = Self.machineHasIPv6) -> String {
        configured == "::" && !hasIPv6 ? "0.0.0.0" : configured
    }

    /// Returns HOST:PORT, with brackets around an IPv6 address.
    package static func text(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the reason for an errno(3) of socket(2) or bind(2).
    package static func reason(_ code: Int32) -> String {
        let words =
            switch code {
            case EADDRINUSE: "another process listens there"
            case EADDRNOTAVAIL: "this machine does not have that address"
            case EAFNOSUPPORT: "this machine has no IPv6; name an IPv4 address"
            case EACCES, EPERM: "this user may not listen there"
            default: ""
            }
        return words.isEmpty ? SystemCall.text(of: code) : "\(words) (\(SystemCall.name(of: code)))"
    }
}

/// The value of a Host field in an HTTP request.
package enum HostField {
    /// Returns whether the value is `uri-host [":" port]` (RFC 9112 §3.2, RFC 3986 §3.2.2), which may be empty.
    package static func isValid(_ value: some StringProtocol) -> Bool {
        let host: Substring.UTF8View
        var port = Substring().utf8
        let text = Substring(value)
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]"),
                IPAddressText.isIPv6(String(text[text.index(after: text.startIndex)..<end]))
            else { return false }
            let rest = text[text.index(after: end)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return false }
            (host, port) = (Substring().utf8, rest.dropFirst().utf8)
        } else {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = parts[0].utf8
            if parts.count > 1 { port = parts[1].utf8 }
        }
        guard port.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
        guard port.isEmpty || Int(Substring(port)).map({ $0 <= 65_535 }) == true else { return false }
        return Self.isName(Array(host))
    }

    /// Returns whether the bytes are a `reg-name`: letters, digits, `-._~`, `!$&'()*+,;=` and percent-encoded bytes.
    private static func isName(_ bytes: [UInt8]) -> Bool {
        var place = 0
        while place < bytes.count {
            switch bytes[place] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: break
            case let byte where "-._~!$&'()*+,;=".utf8.contains(byte): break
            case UInt8(ascii: "%"):
                guard place + 2 < bytes.count, Self.isHexadecimal(bytes[place + 1]),
                    Self.isHexadecimal(bytes[place + 2])
                else { return false }
                place += 2
            default: return false
            }
            place += 1
        }
        return true
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
