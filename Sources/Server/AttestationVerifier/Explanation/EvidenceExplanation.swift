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

extension EvidenceExplanation {
    /// Explains an Android chain that starts with the leaf.
    ///
    /// - Parameter challenge: The expected challenge. If nil, the evidence's own challenge is used, so that all other
    ///   checks can run.
    package init(android chain: [[UInt8]], challenge: [UInt8]?, at time: Timestamp, by verifier: AndroidVerifier) {
        let leaf = chain.first.flatMap { try? Certificate(decoding: $0) }
        let description = leaf?.values(of: .keyDescription).first.flatMap { try? KeyDescription(decoding: $0) }
        var verification = Verification()
        var refusal: AttestationRefusal?
        do throws(AttestationRefusal) {
            _ = try verifier.verify(
                chain: chain,
                challenge: challenge ?? description?.challenge ?? [],
                at: time,
                verification: &verification
            )
        } catch {
            refusal = error
        }
        let rootHash = chain.last.flatMap { try? Certificate(decoding: $0) }.map { sha256($0.publicKey.encoded) }
        self.init(
            kind: "Android Key Attestation",
            certificates: chain,
            facts: Self.facts(
                chain: chain,
                description: description,
                root: verifier.anchors.first { $0.keyHash == rootHash },
                isChallengeGiven: challenge != nil
            ),
            checks: AndroidVerifier.Check.allCases.map(\.rawValue),
            verification: verification,
            refusal: refusal
        )
    }

    /// Explains an App Attest attestation object.
    ///
    /// - Parameter keyID: The id of the key. If nil, the id of the key in the leaf is used.
    package init(
        appleObject encoded: [UInt8],
        keyID: [UInt8]?,
        clientDataHash: [UInt8],
        at time: Timestamp,
        by verifier: AppleVerifier
    ) {
        let object = encoded.count <= EvidenceLimits.byteCount ? try? AppAttestObject(decoding: encoded) : nil
        let leaf = object?.certificates.first.flatMap { try? Certificate(decoding: $0) }
        let data = object.flatMap { try? AuthenticatorData(decoding: $0.authenticatorData, withCredential: true) }
        var verification = Verification()
        var refusal: AttestationRefusal?
        do throws(AttestationRefusal) {
            _ = try verifier.verify(
                object: encoded,
                keyID: keyID ?? leaf?.publicKey.p256.map { sha256($0.bytes).bytes } ?? [],
                clientDataHash: clientDataHash,
                at: time,
                verification: &verification
            )
        } catch {
            refusal = error
        }
        var facts: [(name: String, value: String?)] = [
            ("security level", "Secure Enclave"),
            ("OS version", leaf.flatMap { AppleCertificateFacts($0).osVersion }),
        ]
        facts += Self.facts(data, apps: verifier.policy.apps.map(\.id))
        facts.append(("key id given", keyID == nil ? "no: taken from the evidence" : "yes"))
        self.init(
            kind: "Apple App Attest, attestation",
            certificates: object?.certificates ?? [],
            facts: facts,
            checks: AppleVerifier.Check.allCases.map(\.rawValue),
            verification: verification,
            refusal: refusal
        )
    }

    /// Explains an App Attest assertion.
    package init(
        assertion encoded: [UInt8],
        clientDataHash: [UInt8],
        key: P256PublicKey,
        appID: String,
        previousCounter: UInt32
    ) {
        let assertion = encoded.count <= EvidenceLimits.byteCount ? try? AppAttestAssertion(decoding: encoded) : nil
        let data = assertion.flatMap { try? AuthenticatorData(decoding: $0.authenticatorData, withCredential: false) }
        var verification = Verification()
        var refusal: AttestationRefusal?
        do throws(AttestationRefusal) {
            _ = try AssertionVerifier.verified(
                encoded,
                clientDataHash: clientDataHash,
                key: key,
                appID: appID,
                previousCounter: previousCounter,
                verification: &verification
            )
        } catch {
            refusal = error
        }
        self.init(
            kind: "Apple App Attest, assertion",
            certificates: [],
            facts: Self.facts(data, apps: [appID]) + [("previous counter", String(previousCounter))],
            checks: AssertionVerifier.Check.allCases.map(\.rawValue),
            verification: verification,
            refusal: refusal
        )
    }

    private static func facts(
        chain: [[UInt8]],
        description: KeyDescription?,
        root: TrustAnchor?,
        isChallengeGiven: Bool
    ) -> [(name: String, value: String?)] {
        guard let description else { return [("key description", "missing or malformed in the leaf")] }
        let list = description.hardwareEnforced
        let certificates = chain.compactMap { try? Certificate(decoding: $0) }
        let levels = [description.attestationSecurityLevel.name, description.keyMintSecurityLevel.name]
        let boot = list.rootOfTrust.map { root in
            "\(root.verifiedBootState.name), the device is \(root.isDeviceLocked ? "locked" : "unlocked")"
        }
        let packages = description.application?.packages.map { "\($0.name) version \($0.version)" }
        let device = [AuthorizationTag.attestationIDBrand, .attestationIDModel].compactMap { list.text($0) }
        return [
            ("root", root?.name ?? "not trusted"),
            ("provisioning", Provisioning(certificates).rawValue),
            ("attestation version", String(description.attestationVersion)),
            ("security level", "attestation \(levels[0]), key \(levels[1])"),
            ("boot state", boot ?? "not stated by the hardware"),
            ("boot key", list.rootOfTrust?.verifiedBootKey.hex),
            ("OS version", list.integer(.osVersion).map(String.init)),
            ("OS patch level", Self.patchLevel(list, .osPatchLevel)),
            ("vendor patch level", Self.patchLevel(list, .vendorPatchLevel)),
            ("boot patch level", Self.patchLevel(list, .bootPatchLevel)),
            ("device", device.isEmpty ? "not stated" : device.joined(separator: " ")),
            ("application", packages?.joined(separator: ", ") ?? "not stated"),
            ("signed by", description.application?.signatureDigests.map(\.hex).joined(separator: ", ")),
            ("challenge", description.challenge.hex + (isChallengeGiven ? "" : " (not compared: none was given)")),
        ]
    }

    /// Returns a patch level as stated, and its meaning.
    private static func patchLevel(_ list: AuthorizationList, _ tag: AuthorizationTag) -> String {
        guard let number = list.integer(tag) else { return "not stated" }
        guard let level = PatchLevel(stated: number) else { return "\(number), which is not a date" }
        return level.day == nil ? "\(level), without a day" : "\(level)"
    }

    /// Returns the facts in authenticator data.
    ///
    /// The evidence only contains a hash of the app id, so the app can be named only if it is one of `apps`.
    private static func facts(_ data: AuthenticatorData?, apps: [String]) -> [(name: String, value: String?)] {
        guard let data else { return [("authenticator data", "missing or malformed")] }
        let app = apps.first { sha256(Array($0.utf8)) == data.rpIDHash }
        let environment = data.credential.map { credential in
            AppAttestEnvironment(aaguid: credential.aaguid)?.rawValue ?? credential.aaguid.hex
        }
        return [
            ("application", app ?? "not configured (hash \(data.rpIDHash))"),
            ("environment", environment),
            ("counter", String(data.counter)),
            ("key id", data.credential?.id.hex),
            ("validation category", Self.text(data.extensions?.validationCategory) { $0.name }),
            ("bundle version", Self.text(data.extensions?.bundleVersion) { $0 }),
        ]
    }

    private static func text<Value>(_ claim: AppAttestExtensions.Claim<Value>?, _ name: (Value) -> String) -> String {
        switch claim {
        case nil, .missing: "not stated"
        case .unreadable: "stated in an unknown form"
        case .value(let value): name(value)
        }
    }
}
