/// A TLS 1.3 client hello like a phone's, with a key share whose private key is unknown.
enum ClientHello {
    /// Returns a record with the complete message (RFC 8446 §4.1.2, §5.1), with new random bytes each time.
    static func record(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &generator) } }
        let protocolName = Array("remote-pin/1".utf8)
        let extensions: [[UInt8]] = [
            // supported_versions: only 1.3; supported_groups and key_share: X25519; ECDSA with P-256; ALPN.
            self.extension(43, [2, 3, 4]),
            self.extension(10, [0, 2, 0, 29]),
            self.extension(13, [0, 2, 4, 3]),
            self.extension(51, [0, 36, 0, 29, 0, 32] + random(32)),
            self.extension(16, [0, UInt8(protocolName.count + 1), UInt8(protocolName.count)] + protocolName),
        ]
        let body = [3, 3] + random(32) + [0] + [0, 2, 0x13, 0x01] + [1, 0] + self.counted(extensions.flatMap(\.self))
        let message = [1, 0] + self.counted(body)
        return [22, 3, 1] + self.counted(message)
    }

    private static func `extension`(_ type: UInt8, _ data: [UInt8]) -> [UInt8] { [0, type] + self.counted(data) }

    /// Prefixes bytes with their two-byte length.
    private static func counted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
    }
}
