internal import Evidence
package import Vocabulary

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

    private static func text<Value>(
        _ claim: AppAttestExtensions.Claim<Value>?,
        _ name: (Value) -> String
    ) -> String {
        switch claim {
        case nil, .missing: "not stated"
        case .unreadable: "stated in an unknown form"
        case .value(let value): name(value)
        }
    }
}
