internal import HostSystem
package import Secrets
package import Vocabulary

/// A PIN entered by a person.
///
/// It exists from the last digit until the action it was entered for is done.
///
/// This is a class so that the flows, which are values, can pass it on without copying the digits. The digits are wiped
/// when the last flow releases it. The attempt id has the same lifetime: sending the same entry again after a lost
/// reply never costs a second attempt, and a new entry never gets the verdict on an old one (docs/protocol.md).
public final class PINEntry: Sendable, CustomStringConvertible, CustomReflectable {
    /// Identifies this entry to the server.
    package let attemptID: AttemptID
    private let pin: PIN

    /// Takes ownership of the digits and creates a new attempt id.
    package init(_ pin: consuming PIN) {
        self.pin = pin
        self.attemptID = .random()
    }

    package func withPIN<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing PIN) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(self.pin)
    }

    /// Compares the digits in constant time.
    package func isEqual(to other: PINEntry) -> Bool { self.pin.isEqual(to: other.pin) }

    /// The rule for new PINs that this PIN violates, or nil if it may be chosen.
    package var brokenRule: PINRule? {
        switch self.pin.weakness() {
        case .none: nil
        case .some(.allDigitsEqual): .differentDigits
        case .some(.ascending): .notAscending
        case .some(.descending): .notDescending
        }
    }

    /// A constant, so that messages and logs do not contain the digits.
    public var description: String { "(PIN entry)" }
    /// Empty, so that `dump` does not print the digits.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The rules for a new PIN (PF2.9/1.2), in the order they are checked.
public enum PINRule: String, Hashable, Sendable, CaseIterable {
    /// The PIN has six characters.
    case sixCharacters = "six-characters"
    /// The characters are digits.
    case digitsOnly = "digits-only"
    /// The digits are not all equal.
    case differentDigits = "different-digits"
    /// The digits do not count up, as in 123456.
    case notAscending = "not-ascending"
    /// The digits do not count down, as in 654321.
    case notDescending = "not-descending"
}

/// The characters typed into a PIN input.
public enum PINInput: Sendable {
    /// Six decimal digits of any script, together with an attempt id.
    case complete(PINEntry)
    /// Anything other than six digits.
    ///
    /// It is never sent and does not count as an attempt.
    case malformed(PINRule)

    /// Creates an input from the typed characters.
    ///
    /// The caller must wipe its own copy.
    public init(typed characters: some Collection<UInt8>) {
        var copy = WipedBuffer(capacity: characters.count)
        for byte in characters { _ = copy.append(byte) }
        self = copy.withBytes { PINInput(typed: $0) }
    }
}

/// Two entries are equal if they are the same attempt.
///
/// The digits are not compared.
extension PINEntry: Equatable {
    /// Compares the attempt ids.
    public static func == (first: PINEntry, second: PINEntry) -> Bool {
        first.attemptID == second.attemptID
    }
}

extension PINInput {
    /// Creates an input from borrowed characters, which are UTF-8.
    ///
    /// A digit of another script stands for the ASCII digit of the same value, so that all keys are derived from ASCII.
    /// The characters are decoded one by one, because a `String` could not be wiped.
    public init(typed characters: RawSpan) {
        var digits = WipedBuffer(capacity: PIN.length)
        var characterCount = 0
        var place = 0
        while place < characters.byteCount {
            let scalar = Unicode.Scalar.decoded(at: place, of: characters.byteCount) { characters.byte(at: $0) }
            if let digit = scalar?.decimalDigit { _ = digits.append(UInt8(ascii: "0") + digit) }
            characterCount += 1
            place += scalar.map(UTF8.width) ?? 1
        }
        guard characterCount == PIN.length else {
            self = .malformed(.sixCharacters)
            return
        }
        self = digits.withBytes { digits in
            guard let pin = PIN(copying: digits) else { return .malformed(.digitsOnly) }
            return .complete(PINEntry(pin))
        }
    }

    /// Creates an input from a line of a file, a descriptor or a prompt.
    ///
    /// - Throws: The reason, with the character, if the line has only blanks, or a character that is neither visible
    ///   ASCII nor a digit.
    package init(line: RawSpan) throws(SecretTextProblem) {
        let range = try SecretText.range(in: line.byteCount, allowsDigits: true) { line.byte(at: $0) }
        self.init(typed: line.extracting(range))
    }

    /// Returns the same digits as a new entry with a new attempt id.
    package func enteredAgain() -> PINInput {
        switch self {
        case .complete(let entry): .complete(PINEntry(entry.withPIN { $0.copy() }))
        case .malformed(let rule): .malformed(rule)
        }
    }
}
