extension Unicode.Scalar {
    /// The value of a decimal digit of any script (Unicode Standard §4.6, Numeric_Type=Decimal), or nil.
    ///
    /// Keyboards for Arabic, Devanagari and other scripts type these instead of ASCII digits.
    package var decimalDigit: UInt8? {
        guard self.properties.numericType == .decimal else { return nil }
        return self.properties.numericValue.map { UInt8($0) }
    }

    /// Decodes the UTF-8 character that starts at `place`, or returns nil if the bytes there are not UTF-8.
    ///
    /// Only a register holds the bytes, so this may be used on a secret.
    ///
    /// - Parameters:
    ///   - count: The number of bytes in the text.
    ///   - byte: Returns one byte of the text.
    package static func decoded(at place: Int, of count: Int, _ byte: (Int) -> UInt8) -> Unicode.Scalar? {
        var next = NextBytes()
        for index in (place..<min(place + 4, count)).reversed() { next.prepend(byte(index)) }
        var decoder = UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&next) else { return nil }
        return scalar
    }

    /// At most four bytes, the longest character in UTF-8.
    private struct NextBytes: IteratorProtocol {
        private var bytes: UInt32 = 0
        private var count = 0

        mutating func prepend(_ byte: UInt8) {
            self.bytes = self.bytes << 8 | UInt32(byte)
            self.count += 1
        }

        mutating func next() -> UInt8? {
            guard self.count > 0 else { return nil }
            defer {
                self.bytes >>= 8
                self.count -= 1
            }
            return UInt8(truncatingIfNeeded: self.bytes)
        }
    }
}
