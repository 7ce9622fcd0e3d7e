internal import Evidence
package import Vocabulary

/// A public key that a chain may end at.
///
/// Anchors are keys rather than certificates, because four Google roots with different dates share one RSA key.
package struct TrustAnchor: Hashable, Sendable {
    /// The name of the anchor, for logs and explanations.
    package let name: String
    /// The SHA-256 digest of the key's SubjectPublicKeyInfo.
    package let keyHash: SHA256Digest
    /// The key, for verifying chains that omit their root (App Attest); nil if only its hash is known.
    let key: SubjectPublicKey?
    /// The root's name, or nil if only the key is known.
    let subject: DistinguishedName?
    /// Whether the root was created by a lab's authority.
    package let isOfLab: Bool

    /// Creates an anchor from a root certificate; returns nil if the bytes are not a certificate.
    package init?(name: String, certificate: [UInt8]) {
        guard let root = try? Certificate(decoding: certificate) else { return nil }
        self.name = name
        self.keyHash = sha256(root.publicKey.encoded)
        self.key = root.publicKey
        self.subject = root.subject
        self.isOfLab = root.isOfLab
    }

    /// Creates an anchor whose name does not depend on the certificate's file.
    ///
    /// A pinned key is named after its vendor. Any other key is named after its hash.
    package init?(certificate: [UInt8]) {
        self.init(name: "", certificate: certificate)
        let hash = self.keyHash
        let pinned = (Self.google + Self.apple).first { $0.keyHash == hash }
        self.init(name: pinned?.name ?? "sha256:\(hash)", certificate: certificate)
    }

    private init?(name: String, keyHash hex: String) {
        guard let hash = SHA256Digest(hex: hex) else { return nil }
        self.name = name
        self.keyHash = hash
        self.key = nil
        self.subject = nil
        self.isOfLab = false
    }

    private init?(name: String, key hex: String) {
        guard let encoded = [UInt8](hex: hex), let key = try? SubjectPublicKey(decoding: encoded) else { return nil }
        self.name = name
        self.keyHash = sha256(encoded)
        self.key = key
        self.subject = nil
        self.isOfLab = false
    }
}

extension TrustAnchor {
    /// Google's hardware attestation roots: the RSA key used since 2016 and the P-384 key used from 2026 on.
    ///
    /// They are published at https://developer.android.com/privacy-and-security/security-key-attestation and
    /// https://android.googleapis.com/attestation/root, and identified by the SHA-256 digest of each
    /// SubjectPublicKeyInfo.
    package static let google: [TrustAnchor] = [
        TrustAnchor(name: "google-rsa", keyHash: "feb2ea7551ee316ed4bb443c8293b884dbfdea40b603ee3e4f4a897e4580fbae"),
        TrustAnchor(name: "google-ec", keyHash: "3ee44512a1af2beb39c889490c60ea3f82e43f5d5a5532f5ab9419f676cd07ec"),
    ].compactMap { $0 }

    /// Apple's App Attestation Root CA, a P-384 key.
    ///
    /// It is published at https://www.apple.com/certificateauthority/Apple_App_Attestation_Root_CA.pem. The anchor
    /// contains the whole SubjectPublicKeyInfo, because App Attest chains omit their root.
    package static let apple: [TrustAnchor] = [
        TrustAnchor(
            name: "apple-app-attestation",
            key: "3076301006072a8648ce3d020106052b8104002203620004"
                + "4531e198b5b4ec04da1502045704ed4f877272d76135b26116cfc88b615d0a00"
                + "0719ba69858dfe77caa3b839e020ddd656141404702831e43f70b88fd6c394b6"
                + "08ea2bd6ae61e9f598c12f46af52937266e57f14eb61fec530f7144f53812e35"
        )
    ].compactMap { $0 }
}

/// Checks on certificate chains that both platforms share.
enum CertificateChain {
    /// Reads all certificates in a chain that is within the limits.
    ///
    /// The limits are checked first, so that oversized evidence is never parsed.
    static func read(_ chain: [[UInt8]]) throws(AttestationRefusal) -> [Certificate] {
        guard chain.count <= EvidenceLimits.certificates else { throw .tooManyCertificates }
        guard chain.reduce(0, { $0 + $1.count }) <= EvidenceLimits.byteCount else { throw .evidenceTooLarge }
        var certificates: [Certificate] = []
        for encoded in chain {
            guard let certificate = try? Certificate(decoding: encoded) else { throw .malformedCertificate }
            certificates.append(certificate)
        }
        return certificates
    }

    /// Checks, starting with the leaf, that each issuer is the subject of the next certificate.
    static func checkNames(_ certificates: [Certificate]) throws(AttestationRefusal) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()) {
            guard certificate.issuer.matches(issuer.subject) else { throw .issuerMismatch }
        }
    }

    /// Verifies each signature with the key of the next certificate, starting at the root.
    ///
    /// Invariant: if the last certificate is known to be an anchor's, no signature is verified with a key that does not
    /// chain to an anchor. An attacker can use the most expensive keys to build a chain with valid links. In this
    /// order, the verifier only checks one of its signatures, which fails.
    ///
    /// Issuers need not be marked as CAs, because many factory chains do not mark them.
    static func checkSignatures(
        _ certificates: [Certificate],
        _ verification: inout Verification
    ) throws(AttestationRefusal) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()).reversed() {
            guard verification.isSigned(certificate, by: issuer.publicKey) else { throw .badSignature }
        }
    }
}
