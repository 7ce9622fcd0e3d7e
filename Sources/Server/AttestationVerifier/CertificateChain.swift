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

    /// Leaf first: each issuer is the next one's subject, each signature verifies under the next one's key.
    ///
    /// That issuers are marked as authorities is not demanded: many factory chains do not mark them.
    static func checkLinks(
        _ certificates: [Certificate],
        _ verification: inout Verification
    ) throws(AttestationRefusal) {
        for (certificate, issuer) in zip(certificates, certificates.dropFirst()) {
            guard certificate.issuer.matches(issuer.subject) else { throw .issuerMismatch }
            guard verification.isSigned(certificate, by: issuer.publicKey) else { throw .badSignature }
        }
    }
}
