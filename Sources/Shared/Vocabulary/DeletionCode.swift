/// The code with which an owner can revoke the wallet remotely.
///
/// It consists of 90 random bits in 18 characters of Crockford's base32, and is displayed as XXXX-XXXX-XXXX-XXXX-XX.
/// Although it is the owner's secret, it is a plain value, because it is shown on the screen and sent in messages. Logs
/// must never contain one, so its description does not reveal it.
package struct DeletionCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The 18 characters in upper case, without dashes.
    package let characters: String

    package static let length = 18
    /// Crockford's alphabet, which does not contain I, L, O and U.
    package static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// Parses a typed or pasted code (docs/protocol.md, The deletion code).
    ///
    /// Separators are dropped, because phones and word processors replace dashes and blanks. ASCII letters may have
    /// either case, I and L are read as 1, and O is read as 0. Only ASCII characters are part of a code: Unicode's case
    /// mapping would also turn `ı` and the Kelvin sign into letters, and the code would be shown as a good one that
    /// belongs to no wallet.
    package init?(_ text: String) {
        var characters = ""
        for scalar in text.unicodeScalars where !Self.isSeparator(scalar) {
            guard scalar.isASCII, characters.utf8.count < Self.length else { return nil }
            let byte = UInt8(ascii: scalar)
            switch UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte ? byte & 0xDF : byte {
            case UInt8(ascii: "I"), UInt8(ascii: "L"): characters.append("1")
            case UInt8(ascii: "O"): characters.append("0")
            case let upper:
                let character = Character(Unicode.Scalar(upper))
                guard Self.alphabet.contains(character) else { return nil }
                characters.append(character)
            }
        }
        guard characters.utf8.count == Self.length else { return nil }
        self.characters = characters
    }

    /// Returns whether a character is dropped from a typed code: a blank, a control or format character, or a dash.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator, .control, .format, .dashPunctuation: true
        // The dashes of other categories: swung dash, superscript and subscript minus, minus sign.
        default: ["\u{2053}", "\u{207B}", "\u{208B}", "\u{2212}"].contains(scalar)
        }
    }

    /// Creates a code from 90 bits of the system's secure random number generator.
    package static func random() -> DeletionCode {
        var generator = SystemRandomNumberGenerator()
        return Self.random(using: &generator)
    }

    /// Creates a code from 90 random bits.
    package static func random(using generator: inout some RandomNumberGenerator) -> DeletionCode {
        var characters = ""
        for _ in 0..<Self.length { characters.append(Self.alphabet[Int.random(in: 0..<32, using: &generator)]) }
        guard let code = DeletionCode(characters) else { preconditionFailure("the alphabet is valid input") }
        return code
    }

    /// The code as it is displayed: XXXX-XXXX-XXXX-XXXX-XX.
    package var grouped: String {
        var groups = ""
        for (index, character) in self.characters.enumerated() {
            if index > 0, index.isMultiple(of: 4) { groups.append("-") }
            groups.append(character)
        }
        return groups
    }

    package var description: String { "(deletion code)" }
    package var debugDescription: String { "(deletion code)" }
}
