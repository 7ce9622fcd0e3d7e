/// The code with which an owner revokes the wallet remotely: 90 random bits in 18 characters of Crockford's base32,
/// shown as XXXX-XXXX-XXXX-XXXX-XX.
///
/// It is its owner's secret, but a plain value, because it is shown on a screen and travels in messages. Logs must
/// never contain one, so its description does not reveal it.
public struct DeletionCode: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The 18 characters, upper case, without dashes.
    public let characters: String

    /// The number of characters in a code.
    public static let length = 18
    /// Crockford's alphabet: no I, L, O and U.
    public static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

    /// Reads typed text: ignores case, dashes and spaces, reads I and L as 1 and O as 0.
    public init?(_ text: String) {
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

    /// Creates a code of 90 random bits from the system's secure generator.
    public static func random() -> DeletionCode {
        var generator = SystemRandomNumberGenerator()
        return Self.random(using: &generator)
    }

    /// Creates a code of 90 random bits.
    public static func random(using generator: inout some RandomNumberGenerator) -> DeletionCode {
        var characters = ""
        for _ in 0..<Self.length { characters.append(Self.alphabet[Int.random(in: 0..<32, using: &generator)]) }
        guard let code = DeletionCode(characters) else { preconditionFailure("the alphabet is valid input") }
        return code
    }

    /// The form for display: XXXX-XXXX-XXXX-XXXX-XX.
    public var grouped: String {
        var groups = ""
        for (index, character) in self.characters.enumerated() {
            if index > 0, index.isMultiple(of: 4) { groups.append("-") }
            groups.append(character)
        }
        return groups
    }

    public var description: String { "(deletion code)" }
    public var debugDescription: String { "(deletion code)" }
}
