internal import Evidence

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
