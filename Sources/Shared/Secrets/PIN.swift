/// Six digits that only their owner knows.
///
/// A value exists only while something is derived from it: it cannot be copied, printed or compared with `==`, and its
/// bytes are wiped with it.
public struct PIN: ~Copyable, Sendable {
    private let digits: SecretBytes

    /// Digits of one PIN; a wallet accepts no fewer, whatever a server says.
    public static let length = 6

    /// Copies six ASCII digits; nil for anything else.
    public init?(copying digits: some Collection<UInt8>) {
        self.init(SecretBytes(copying: digits))
    }

    /// Copies six ASCII digits that another owner lends; nil for anything else.
    public init?(copying digits: RawSpan) {
        self.init(SecretBytes(copying: digits))
    }

    private init?(_ digits: consuming SecretBytes) {
        guard digits.count == Self.length, digits.allBytes({ (0x30...0x39).contains($0) }) else { return nil }
        self.digits = digits
    }

    /// Why a PIN is too simple to be chosen; the rule that it breaks.
    public enum Weakness: Hashable, Sendable, CaseIterable {
        /// One digit six times.
        case allDigitsEqual
        /// Every step is +1: 012345 … 456789.
        case ascending
        /// Every step is −1: 987654 … 543210.
        case descending
    }

    /// The rule of the local policy (flows.md PF2.9) that this PIN breaks; nil where it may be chosen.
    ///
    /// The policy is about new PINs only: one that exists is tried whatever it looks like.
    public borrowing func weakness() -> Weakness? {
        self.digits.withBytes { span in
            let steps = (1..<Self.length).map { index in
                Int(span.byte(at: index)) - Int(span.byte(at: index - 1))
            }
            if steps.allSatisfy({ $0 == 0 }) { return .allDigitsEqual }
            if steps.allSatisfy({ $0 == 1 }) { return .ascending }
            if steps.allSatisfy({ $0 == -1 }) { return .descending }
            return nil
        }
    }

    /// Whether both are the same digits, in constant time; for the second entry of a new PIN.
    public borrowing func isEqual(to other: borrowing PIN) -> Bool {
        self.digits.isEqual(to: other.digits)
    }

    /// Salt ‖ digits: what everything that depends on a PIN is derived from.
    ///
    /// The salt's 256 bits are why six digits cannot be searched by whoever lacks the device.
    public borrowing func keyMaterial(salt: borrowing SecretBytes) -> SecretBytes {
        salt.concatenated(with: self.digits)
    }

    /// A copy of its own, for an entry that outlives the screen it was made on.
    public borrowing func copy() -> PIN {
        guard let copy = self.digits.withBytes({ PIN(copying: $0) }) else {
            preconditionFailure("the digits of a PIN are a PIN")
        }
        return copy
    }
}

extension SecretBytes {
    /// Whether `condition` holds for each byte; looks at all of them whatever it finds.
    borrowing func allBytes(_ condition: (UInt8) -> Bool) -> Bool {
        self.withBytes { span in
            var holds = true
            for index in 0..<span.byteCount { holds = condition(span.byte(at: index)) && holds }
            return holds
        }
    }
}
