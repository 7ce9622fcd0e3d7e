internal import Evidence
internal import Vocabulary

/// What holds for chains of both platforms.
enum CertificateChain {
    /// Reads every certificate, within the limits.
    ///
    /// The limits come first: nothing is parsed of evidence that is too large.
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

    /// Leaf first: each issuer is the next one's subject.
    static func checkNames(_ certificates: [Certificate]) throws(AttestationRefusal) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()) {
            guard certificate.issuer.matches(issuer.subject) else { throw .issuerMismatch }
        }
    }

    /// Each signature verifies under the next one's key, from the root's side on.
    ///
    /// Invariant: once the last one is known to be an anchor's, no signature is verified under a key that no anchor vouches
    /// for. Anybody can make a chain whose links hold, of keys as dear to verify under as there are; from this side
    /// he has one signature verified that fails.
    ///
    /// That issuers are marked as authorities is not demanded: many factory chains do not mark them.
    static func checkSignatures(
        _ certificates: [Certificate],
        _ verification: inout Verification
    ) throws(AttestationRefusal) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()).reversed() {
            guard verification.isSigned(certificate, by: issuer.publicKey) else { throw .badSignature }
        }
    }
}
