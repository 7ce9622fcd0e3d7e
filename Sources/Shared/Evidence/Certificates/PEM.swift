internal import FoundationEssentials

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

    private static func block(_ bytes: [UInt8]) -> String {
        let body = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return [Self.begin, body, Self.end, ""].joined(separator: "\n")
    }

    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        Data(base64Encoded: Data(text.filter { $0 != 0x20 && $0 != 0x0D && $0 != 0x09 })).map { Array($0) }
    }
}
