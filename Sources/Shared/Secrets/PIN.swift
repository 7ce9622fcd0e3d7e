/// A PIN of six digits.
///
/// A value only exists while a key is being derived from it. It cannot be copied, printed or compared with `==`, and
/// its bytes are wiped at the end of its lifetime.
package struct PIN: ~Copyable, Sendable {
    private let digits: SecretBytes

    /// The number of digits.
    ///
    /// A wallet rejects a server that requires fewer.
    package static let length = 6

    /// Copies six ASCII digits; returns nil for any other bytes.
    package init?(copying digits: some Collection<UInt8>) {
        self.init(SecretBytes(copying: digits))
    }

    /// Copies six borrowed ASCII digits; returns nil for any other bytes.
    package init?(copying digits: RawSpan) { self.init(SecretBytes(copying: digits)) }

    private init?(_ digits: consuming SecretBytes) {
        guard digits.count == Self.length, digits.allBytes({ (0x30...0x39).contains($0) }) else { return nil }
        self.digits = digits
    }

    /// The rules of the local policy, which reject simple PINs.
    package enum Weakness: Hashable, Sendable, CaseIterable {
        /// All six digits are the same.
        case allDigitsEqual
        /// Every digit is one more than the previous digit: 012345 … 456789.
        case ascending
        /// Every digit is one less than the previous digit: 987654 … 543210.
        case descending
    }

    /// Returns the rule of the local policy (PF2.9) that this PIN violates, or nil if the PIN is allowed.
    ///
    /// The policy only applies to new PINs. An existing PIN is always tried.
    package borrowing func weakness() -> Weakness? {
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

    /// Returns whether both PINs have the same digits, in constant time; used when a new PIN is entered twice.
    package borrowing func isEqual(to other: borrowing PIN) -> Bool {
        self.digits.isEqual(to: other.digits)
    }

    /// Returns salt ‖ digits, the input for all derivations from a PIN.
    ///
    /// The salt has 256 bits, so an attacker without the device cannot search for the six digits.
    package borrowing func keyMaterial(salt: borrowing SecretBytes) -> SecretBytes {
        salt.concatenated(with: self.digits)
    }

    /// Returns a separate copy, for a PIN that is still needed after its screen is gone.
    package borrowing func copy() -> PIN {
        guard let copy = self.digits.withBytes({ PIN(copying: $0) }) else {
            preconditionFailure("the digits of a PIN are a PIN")
        }
        return copy
    }
}

extension SecretBytes {
    /// Returns whether `condition` is true for all bytes; always checks every byte.
    borrowing func allBytes(_ condition: (UInt8) -> Bool) -> Bool {
        self.withBytes { span in
            var holds = true
            for index in 0..<span.byteCount { holds = condition(span.byte(at: index)) && holds }
            return holds
        }
    }
}
