/// Reads and writes certificates in text form (RFC 7468).
package enum PEM {
    /// Returns a text with a separate block for each certificate, in order.
    package static func certificates(_ certificates: [[UInt8]]) -> String {
        certificates.map(Self.block).joined()
    }

    /// Returns the contents of all "CERTIFICATE" blocks, in order, or nil if a block is malformed.
    package static func certificates(in text: String) -> [[UInt8]]? {
        var certificates: [[UInt8]] = []
        var body: [UInt8]?
        for line in text.split(whereSeparator: \.isNewline) {
            if line == Self.begin {
                guard body == nil else { return nil }
                body = []
            } else if line == Self.end {
                guard let encoded = body, let bytes = Self.decode(encoded) else { return nil }
                certificates.append(bytes)
                body = nil
            } else if body != nil {
                body?.append(contentsOf: line.utf8)
            }
        }
        return body == nil ? certificates : nil
    }

    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func block(_ bytes: [UInt8]) -> String {
        var lines = [Self.begin]
        var rest = Self.encode(bytes)[...]
        while !rest.isEmpty {
            lines.append(String(decoding: rest.prefix(64), as: UTF8.self))
            rest = rest.dropFirst(64)
        }
        return (lines + [Self.end, ""]).joined(separator: "\n")
    }

    private static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 {
                text.append(index <= group.count ? Self.alphabet[bits >> (18 - 6 * index) & 0x3F] : UInt8(ascii: "="))
            }
        }
        return text
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        let digits = text.filter { $0 != 0x20 && $0 != 0x0D && $0 != 0x09 }
        guard digits.count.isMultiple(of: 4) else { return nil }
        let values = digits.prefix { $0 != UInt8(ascii: "=") }
        guard digits.count - values.count <= 2, digits.dropFirst(values.count).allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        var bytes: [UInt8] = []
        var bits = 0
        for (index, digit) in values.enumerated() {
            guard let value = Self.alphabet.firstIndex(of: digit) else { return nil }
            bits = (bits << 6 | value) & 0xFFFF
            if index % 4 != 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> (6 - 2 * (index % 4)))) }
        }
        return bytes
    }
}
