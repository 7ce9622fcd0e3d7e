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
