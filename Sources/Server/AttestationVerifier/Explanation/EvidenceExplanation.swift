internal import Evidence
package import Vocabulary

/// Explains a piece of evidence to an operator who wants to know why a phone was rejected.
///
/// It shows the claims in the evidence even if they are not trusted. Only the checks listed below the claims decide.
/// Any of the texts may have been written by an attacker, so characters that could move a terminal's cursor are
/// replaced.
package struct EvidenceExplanation: Sendable {
    /// A certificate in the chain.
    package struct CertificateSummary: Hashable, Sendable {
        package let subject: String
        package let serialNumber: String
        package let notBefore: Timestamp
        package let notAfter: Timestamp
        package let key: String
        /// The SHA-256 digest of the public key's SubjectPublicKeyInfo.
        package let keyHash: SHA256Digest
    }

    /// The outcome of one check.
    package enum Outcome: Hashable, Sendable {
        case passed
        case failed(AttestationRefusal)
        /// The check did not run because an earlier one failed.
        case notReached
    }

    /// The name of the evidence format.
    package let kind: String
    /// The certificates that could be read, leaf first.
    package let certificates: [CertificateSummary]
    /// The claims in the evidence.
    package let facts: [(name: String, value: String)]
    /// All checks, in order.
    package let checks: [(name: String, outcome: Outcome)]
    /// The reason for the rejection, or nil if the evidence is accepted.
    package let refusal: AttestationRefusal?

    init(
        kind: String,
        certificates: [[UInt8]],
        facts: [(name: String, value: String?)],
        checks: [String],
        verification: Verification,
        refusal: AttestationRefusal?
    ) {
        self.kind = kind
        self.certificates = certificates.prefix(EvidenceLimits.certificates).compactMap { encoded in
            guard encoded.count <= EvidenceLimits.byteCount else { return nil }
            return (try? Certificate(decoding: encoded)).map { CertificateSummary($0) }
        }
        self.facts = facts.compactMap { fact in fact.value.map { (fact.name, Self.printable($0)) } }
        self.checks = checks.enumerated().map { index, name in
            if index < verification.passed.count { return (name, .passed) }
            guard let refusal, index == verification.passed.count else { return (name, .notReached) }
            return (name, .failed(refusal))
        }
        self.refusal = refusal
    }

    /// Truncates a text to 500 characters and replaces characters that are not plainly visible.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(500).map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                        "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}

extension EvidenceExplanation.CertificateSummary {
    init(_ certificate: Certificate) {
        self.subject = EvidenceExplanation.printable(certificate.subject.description)
        self.serialNumber = certificate.serialNumber
        self.notBefore = certificate.notBefore
        self.notAfter = certificate.notAfter
        self.key = certificate.publicKey.kind.description
        self.keyHash = sha256(certificate.publicKey.encoded)
    }
}

extension EvidenceExplanation: CustomStringConvertible {
    /// The explanation as multi-line text.
    package var description: String {
        var lines = [self.kind, ""]
        if !self.certificates.isEmpty { lines.append("certificates, leaf first") }
        for (index, certificate) in self.certificates.enumerated() {
            lines.append("  \(index)  \(certificate.subject.isEmpty ? "(no name)" : certificate.subject)")
            lines.append("     serial number \(certificate.serialNumber)")
            lines.append("     valid from \(certificate.notBefore.iso8601) to \(certificate.notAfter.iso8601)")
            lines.append("     \(certificate.key), SHA-256 of the key \(certificate.keyHash)")
        }
        lines += ["", "claims of the evidence"]
        let width = self.facts.map(\.name.count).max() ?? 0
        for fact in self.facts {
            lines.append("  \(fact.name)\(String(repeating: " ", count: width - fact.name.count))  \(fact.value)")
        }
        lines += ["", "checks"]
        for check in self.checks {
            switch check.outcome {
            case .passed: lines.append("  pass  \(check.name)")
            case .failed(let refusal): lines.append("  FAIL  \(check.name): \(refusal.rawValue)")
            case .notReached: lines.append("  -     \(check.name)")
            }
        }
        lines.append("")
        if let refusal {
            lines += ["refused: \(refusal.rawValue)", refusal.advice]
        } else {
            lines.append("accepted")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
