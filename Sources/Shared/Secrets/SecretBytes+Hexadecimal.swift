/// Secrets in text form, only for files that are protected as well as the secrets themselves.
extension SecretBytes {
    /// Parses lowercase hexadecimal digits, two per byte.
    ///
    /// Returns nil for any other text.
    package init?(hexadecimal digits: RawSpan) {
        guard var bytes = Self.bytes(of: digits) else { return nil }
        self.init(wiping: &bytes)
    }

    /// Returns the bytes as lowercase hexadecimal digits in ASCII.
    package borrowing func hexadecimal() -> SecretBytes {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(self.count * 2)
        self.withBytes { span in
            for index in 0..<span.byteCount {
                text.append(digits[Int(span.byte(at: index) >> 4)])
                text.append(digits[Int(span.byte(at: index) & 0x0F)])
            }
        }
        return SecretBytes(wiping: &text)
    }

    private static func bytes(of digits: RawSpan) -> [UInt8]? {
        guard digits.byteCount.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.byteCount / 2)
        for index in stride(from: 0, to: digits.byteCount, by: 2) {
            guard let high = self.value(of: digits.byte(at: index)),
                let low = self.value(of: digits.byte(at: index + 1))
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
