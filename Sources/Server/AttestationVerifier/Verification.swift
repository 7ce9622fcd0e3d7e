internal import Crypto
internal import CryptoExtras
package import Evidence

/// A record of a verification: the number of signature checks and the checks that passed.
package struct Verification: Sendable {
    /// The number of signatures checked so far, at most ``EvidenceLimits/signatureChecks``.
    package private(set) var signatureChecks = 0
    /// The checks that passed, in order.
    ///
    /// If the evidence was rejected, the next check failed.
    package private(set) var passed: [String] = []

    package init() {}

    mutating func pass(_ check: some RawRepresentable<String>) {
        self.passed.append(check.rawValue)
    }

    /// Returns whether `certificate` was signed by the private half of `key`; false once the limit on signature checks
    /// is reached.
    mutating func isSigned(_ certificate: Certificate, by key: SubjectPublicKey) -> Bool {
        guard let algorithm = SignatureAlgorithm(certificate.signatureAlgorithm) else { return false }
        return self.isValid(certificate.signature, of: certificate.signedPart, algorithm, key)
    }

    /// Returns whether `signature` is an ECDSA signature with SHA-256 over `message` by `key`; false once the limit on
    /// signature checks is reached.
    package mutating func isValid(_ signature: [UInt8], of message: [UInt8], key: SubjectPublicKey) -> Bool {
        self.isValid(signature, of: message, .ecdsa(.sha256), key)
    }

    private mutating func isValid(
        _ signature: [UInt8],
        of message: [UInt8],
        _ algorithm: SignatureAlgorithm,
        _ key: SubjectPublicKey
    ) -> Bool {
        guard self.signatureChecks < EvidenceLimits.signatureChecks else { return false }
        self.signatureChecks += 1
        switch algorithm.hash {
        case .sha256: return algorithm.isValid(signature, for: SHA256.hash(data: message), key)
        case .sha384: return algorithm.isValid(signature, for: SHA384.hash(data: message), key)
        case .sha512: return algorithm.isValid(signature, for: SHA512.hash(data: message), key)
        }
    }
}

/// A signature algorithm that certificates may use.
///
/// SHA-1 and weaker hashes are excluded.
private enum SignatureAlgorithm {
    enum Hash {
        case sha256, sha384, sha512
    }

    case ecdsa(Hash)
    /// RSA with PKCS #1 v1.5 padding.
    case rsa(Hash)

    init?(_ identifier: OID) {
        switch identifier {
        case "1.2.840.10045.4.3.2": self = .ecdsa(.sha256)
        case "1.2.840.10045.4.3.3": self = .ecdsa(.sha384)
        case "1.2.840.10045.4.3.4": self = .ecdsa(.sha512)
        case "1.2.840.113549.1.1.11": self = .rsa(.sha256)
        case "1.2.840.113549.1.1.12": self = .rsa(.sha384)
        case "1.2.840.113549.1.1.13": self = .rsa(.sha512)
        default: return nil
        }
    }

    var hash: Hash {
        switch self {
        case .ecdsa(let hash), .rsa(let hash): hash
        }
    }

    func isValid(_ signature: [UInt8], for digest: some Digest, _ key: SubjectPublicKey) -> Bool {
        switch (self, key.kind) {
        case (.ecdsa, .p256):
            guard let key = try? P256.Signing.PublicKey(x963Representation: key.content),
                let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        case (.ecdsa, .p384):
            guard let key = try? P384.Signing.PublicKey(x963Representation: key.content),
                let signature = try? P384.Signing.ECDSASignature(derRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        case (.ecdsa, .p521):
            guard let key = try? P521.Signing.PublicKey(x963Representation: key.content),
                let signature = try? P521.Signing.ECDSASignature(derRepresentation: signature)
            else { return false }
            return key.isValidSignature(signature, for: digest)
        case (.rsa, .rsa(let bits)):
            // Factory chains of old devices contain 1024-bit keys. Keys above 4096 bits would be too expensive to
            // verify.
            guard (1024...4096).contains(bits),
                let key = try? _RSA.Signing.PublicKey(unsafeDERRepresentation: key.encoded)
            else { return false }
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        case (.ecdsa, _), (.rsa, _): return false
        }
    }
}

// The checks, with names that operators can read, in the order the verifiers run them.

extension AndroidVerifier {
    /// The checks of a key attestation.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "every certificate can be read, within the limits"
        case anchor = "at least two certificates, each naming the next as issuer, end at a trusted root"
        case links = "each certificate is signed by the next"
        case validity = "the certificates are valid at this time"
        case status = "no certificate is revoked or suspended, and the status list is recent enough"
        case provisioning = "the device got its attestation key in an accepted way"
        case place = "the leaf and no other certificate carries a key description"
        case challenge = "the challenge is the expected one"
        case level = "a key of an accepted kind is kept in hardware of the required level"
        case boot = "the device is locked and its system verified"
        case key = "the key was generated in the hardware and has the required properties"
        case patches = "the patch levels are recent enough"
        case app = "the app is configured"
    }
}

extension AppleVerifier {
    /// The checks of an attestation object.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the object and its certificates can be read, within the limits"
        case anchor = "the chain leads to a trusted root"
        case validity = "the certificates are valid at this time"
        case nonce = "the nonce is derived from the challenge"
        case keyID = "the key id is the hash of the key"
        case app = "the app is configured"
        case counter = "the key has not signed before"
        case environment = "the environment is accepted"
        case credential = "the credential id and its key are the certified ones"
        case category = "the app was signed and distributed in an accepted way"
        case version = "the app is recent enough"
    }
}

extension AssertionVerifier {
    /// The checks of an assertion.
    ///
    /// The first one that fails determines the reason.
    package enum Check: String, CaseIterable, Sendable {
        case form = "the assertion can be read"
        case signature = "the registered key signed this statement"
        case app = "the app is the registered one"
        case counter = "the counter is greater than the last one"
    }
}
