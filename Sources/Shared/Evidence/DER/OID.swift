/// An object identifier in dotted form.
package struct OID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The dotted form, such as `1.2.840.10045.2.1`.
    package let description: String

    package init(stringLiteral text: String) { self.description = text }

    /// Decodes the content octets (X.690 §8.19).
    ///
    /// Returns nil if they end within a number or a number exceeds 63 bits.
    init?(content: [UInt8]) {
        guard let last = content.last, last & 0x80 == 0 else { return nil }
        var numbers: [UInt64] = []
        var number: UInt64 = 0
        for byte in content {
            guard number < 1 << 56 else { return nil }
            number = number << 7 | UInt64(byte & 0x7F)
            guard byte & 0x80 == 0 else { continue }
            if numbers.isEmpty {
                let first = min(number / 40, 2)
                numbers = [first, number - 40 * first]
            } else {
                numbers.append(number)
            }
            number = 0
        }
        self.description = numbers.map { String($0) }.joined(separator: ".")
    }

    /// The content octets.
    var content: [UInt8] {
        let numbers = self.description.split(separator: ".").compactMap { UInt64($0) }
        precondition(numbers.count >= 2, "an object identifier has at least two numbers")
        return ([numbers[0] * 40 + numbers[1]] + numbers.dropFirst(2)).flatMap { Self.base128($0) }
    }

    private static func base128(_ number: UInt64) -> [UInt8] {
        var bytes = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return bytes
    }
}

extension OID {
    static let ecPublicKey: OID = "1.2.840.10045.2.1"
    static let rsaEncryption: OID = "1.2.840.113549.1.1.1"
    /// The prefix of ML-DSA's parameter sets, which are numbered 17 to 19.
    static let nistSignatures = "2.16.840.1.101.3.4.3."
    static let p256: OID = "1.2.840.10045.3.1.7"
    static let ecdsaWithSHA256: OID = "1.2.840.10045.4.3.2"
    static let commonName: OID = "2.5.4.3"
    static let nameSerialNumber: OID = "2.5.4.5"
    static let organization: OID = "2.5.4.10"
    static let title: OID = "2.5.4.12"
    static let subjectKeyIdentifier: OID = "2.5.29.14"
    static let keyUsage: OID = "2.5.29.15"
    static let subjectAlternativeName: OID = "2.5.29.17"
    static let basicConstraints: OID = "2.5.29.19"
    static let authorityKeyIdentifier: OID = "2.5.29.35"
    static let extendedKeyUsage: OID = "2.5.29.37"
    /// Android's key attestation extension, which contains a ``KeyDescription``.
    package static let keyDescription: OID = "1.3.6.1.4.1.11129.2.1.17"
    /// Apple's extension for the nonce of an App Attest attestation.
    package static let appAttestNonce: OID = "1.2.840.113635.100.8.2"
    /// Apple's extension for the app and key policy in App Attest certificates.
    package static let appAttestApplication: OID = "1.2.840.113635.100.8.5"
    /// Apple's extension for the operating system version in App Attest certificates.
    package static let appAttestSystem: OID = "1.2.840.113635.100.8.7"
}
