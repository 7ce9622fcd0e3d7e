/// A secret or a code as it arrives: from a file, a descriptor, a prompt, an argument, or an issuer's program.
///
/// Editors, shells and clipboards add line ends, blanks and byte order marks, and Unicode has several forms of a text.
/// A person does not see such a difference, but it makes another code, and a revocation would then miss its wallets
/// without a sign. Blanks and line ends around the text are therefore removed, and the rest must be visible ASCII.
/// Letters keep their case.
package enum SecretText {
    /// Returns whether a byte is a blank or part of a line end.
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Returns whether a byte is visible ASCII, `!` to `~`.
    package static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    /// Returns the bytes of the text, of which there are 1 to `limit`.
    package static func bytes(_ input: some Collection<UInt8>, atMost limit: Int) throws(SecretTextProblem) -> [UInt8] {
        let input = Array(input)
        let text = Array(input[try self.range(in: input.count) { input[$0] }])
        guard text.count <= limit else { throw .tooLong(limit: limit) }
        return text
    }

    /// Returns the range of the text in the input.
    ///
    /// - Parameters:
    ///   - allowsDigits: Whether decimal digits of all scripts are accepted, as in a PIN.
    ///   - byte: Returns one byte of the input, so that a secret need not be copied.
    package static func range(
        in count: Int,
        allowsDigits: Bool = false,
        _ byte: (Int) -> UInt8
    ) throws(SecretTextProblem) -> Range<Int> {
        guard let first = (0..<count).first(where: { !Self.isBlank(byte($0)) }),
            let last = (0..<count).last(where: { !Self.isBlank(byte($0)) })
        else { throw .empty }
        var place = first
        while place <= last {
            let scalar = Unicode.Scalar.decoded(at: place, of: count, byte)
            let isDigit = allowsDigits && scalar?.decimalDigit != nil
            guard isDigit || Self.isVisible(byte(place)) else {
                throw .character(Self.name(of: scalar, byte(place)), place: place + 1)
            }
            place += scalar.map(UTF8.width) ?? 1
        }
        return first..<(last + 1)
    }

    /// Returns the name of a character, or of a byte that is not UTF-8, without a character that a terminal interprets.
    private static func name(of scalar: Unicode.Scalar?, _ byte: UInt8) -> String {
        guard let scalar else { return "the byte 0x" + [byte].hex.uppercased() }
        let number = String(scalar.value, radix: 16, uppercase: true)
        let code = "U+" + String(repeating: "0", count: max(0, 4 - number.count)) + number
        switch scalar {
        case "\n", "\r": return "a line end (\(code))"
        case " ", "\t": return "a blank (\(code))"
        case "\u{FEFF}": return "a byte order mark (\(code))"
        default: return code
        }
    }
}

/// The reason why an input is not a secret or a code.
///
/// It does not contain the input, only its first character that is not visible ASCII.
public enum SecretTextProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The input has only blanks.
    case empty
    /// The text has more bytes than `limit`.
    case tooLong(limit: Int)
    /// The text contains a blank, or a character that is not visible ASCII.
    ///
    /// The place is that of its first byte in the input, counted from 1.
    case character(String, place: Int)

    /// A predicate for a message, such as `is empty`.
    public var description: String {
        switch self {
        case .empty: "is empty"
        case .tooLong(let limit): "is longer than \(limit) bytes"
        case .character(let name, let place):
            "has \(name) at byte \(place); only visible ASCII characters without blanks are accepted"
        }
    }
}

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
