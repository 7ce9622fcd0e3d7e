/// The code with which an owner can revoke the wallet remotely.
///
/// It consists of 90 random bits in 18 characters of Crockford's base32, and is displayed as XXXX-XXXX-XXXX-XXXX-XX.
/// Although it is the owner's secret, it is a plain value, because it is shown on the screen and sent in messages. Logs
/// must never contain one, so its description does not reveal it.
package struct DeletionCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The 18 characters in upper case, without dashes.
    package let characters: String

    /// The number of characters in a code.
    package static let length = 18
    /// Crockford's alphabet, which does not contain I, L, O and U.
    package static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// Parses a typed code.
    ///
    /// Case, dashes and spaces are ignored, I and L are read as 1, and O is read as 0.
    package init?(_ text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var characters = ""
        for character in text.uppercased() where character != "-" && character != " " {
            switch character {
            case "I", "L": characters.append("1")
            case "O": characters.append("0")
            case _ where Self.alphabet.contains(character): characters.append(character)
            default: return nil
            }
        }
        guard characters.count == Self.length else { return nil }
        self.characters = characters
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
