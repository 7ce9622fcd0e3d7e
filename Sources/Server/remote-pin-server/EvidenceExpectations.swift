internal import ArgumentParser
internal import AttestationVerifier
internal import Evidence
internal import LabFiles
internal import ServerCommandLine
internal import HostSystem
internal import Vocabulary

/// The expectations that a piece of evidence is verified against.
struct EvidenceExpectations: ParsableArguments {
    @Option(help: ArgumentHelp("Verify with this configuration.", valueName: "file"), completion: .file())
    var config: String?

    @Option(help: ArgumentHelp("Verify with this lab's configuration.", valueName: "dir"), completion: .directory)
    var lab: String?

    @Option(
        help: ArgumentHelp(
            "Android's challenge or iOS's client data hash: SHA-256 of the token, or of the statement.",
            discussion: "Optional for Android; the default is the challenge in the evidence.",
            valueName: "hex"
        )
    )
    var challenge: String?

    @Option(help: ArgumentHelp("The time of verification, as 2026-01-31T12:00:00Z; default: now.", valueName: "time"))
    var time: String?

    @Option(help: ArgumentHelp("iOS: TEAM.BUNDLE instead of the configured apps.", valueName: "app id"))
    var app: String?

    @Option(help: ArgumentHelp("iOS: production or development instead of the configured one.", valueName: "name"))
    var environment: String?

    @Option(help: ArgumentHelp("iOS attestation: the key id; default: the id in the evidence.", valueName: "hex"))
    var keyID: String?

    @Option(help: ArgumentHelp("iOS assertion: the registered public key, 65 bytes.", valueName: "hex"))
    var key: String?

    @Option(help: ArgumentHelp("iOS assertion: the counter of the last accepted assertion.", valueName: "n"))
    var counter: UInt32?

    /// Whether no option is set.
    var isEmpty: Bool {
        [self.config, self.lab, self.challenge, self.time, self.app, self.environment, self.keyID, self.key]
            .allSatisfy { $0 == nil } && self.counter == nil
    }

    func validate() throws {
        guard self.config == nil || self.lab == nil else { throw ValidationError("Name one of --config and --lab.") }
        for (name, text) in [("challenge", self.challenge), ("key-id", self.keyID)] {
            guard let text else { continue }
            guard let bytes = [UInt8](hex: text), !bytes.isEmpty else {
                throw ValidationError("--\(name) takes hexadecimal digits, two for each byte.")
            }
        }
        if let time, Timestamp(iso8601: time) == nil {
            throw ValidationError("`\(time)` is not a time; write it as 2026-01-31T12:00:00Z.")
        }
        if let key, P256PublicKey(hex: key) == nil {
            throw ValidationError("--key takes an uncompressed P-256 point: 04 and 64 bytes in hexadecimal.")
        }
        if let environment, AppAttestEnvironment(rawValue: environment) == nil {
            throw ValidationError("`\(environment)` is not an environment; use production or development.")
        }
    }

    /// Verifies the evidence and explains the result.
    func explanation(of evidence: EvidenceFiles) throws -> EvidenceExplanation {
        let (verifier, now) = try self.verifier()
        let time = self.time.flatMap { Timestamp(iso8601: $0) } ?? now
        let challenge = self.challenge.flatMap { [UInt8](hex: $0) }
        switch evidence {
        case .android(let chain):
            let android = AndroidVerifier(
                policy: verifier.policy.android,
                anchors: verifier.androidAnchors,
                statusList: verifier.statusList
            )
            return EvidenceExplanation(android: chain, challenge: challenge, at: time, by: android)
        case .appleAttestation(let object):
            return EvidenceExplanation(
                appleObject: object,
                keyID: self.keyID.flatMap { [UInt8](hex: $0) },
                clientDataHash: try Self.given(challenge, "--challenge", why: "the nonce is derived from it"),
                at: time,
                by: AppleVerifier(policy: try self.applePolicy(verifier), anchors: verifier.appleAnchors)
            )
        case .appleAssertion(let assertion):
            return EvidenceExplanation(
                assertion: assertion,
                clientDataHash: try Self.given(challenge, "--challenge", why: "the signature covers it"),
                key: try Self.given(self.key.flatMap { P256PublicKey(hex: $0) }, "--key", why: "an assertion has none"),
                appID: try Self.given(
                    try self.applePolicy(verifier).apps.first?.id,
                    "--app",
                    why: "no app is configured"
                ),
                previousCounter: self.counter ?? 0
            )
        }
    }

    private static func given<Value>(_ value: Value?, _ option: String, why: String) throws -> Value {
        guard let value else { throw ValidationError("This evidence cannot be verified without \(option): \(why).") }
        return value
    }

    private func applePolicy(_ verifier: EvidenceVerifier) throws -> ApplePolicy {
        var policy = verifier.policy.apple
        if let app { policy.apps = [policy.apps.first { $0.id == app } ?? AppleApp(id: app)] }
        if let environment = self.environment.flatMap({ AppAttestEnvironment(rawValue: $0) }) {
            policy.environments = [environment]
        }
        guard !policy.apps.isEmpty else {
            throw ValidationError("Name the app with --app TEAM.BUNDLE, or a configuration that has one.")
        }
        return policy
    }

    /// Creates the verifier and returns the current time: the lab's clock in a lab, the system clock otherwise.
    private func verifier() throws -> (EvidenceVerifier, Timestamp) {
        guard self.config != nil || self.lab != nil else {
            let policy = AttestationPolicy(android: AndroidPolicy(apps: nil), apple: ApplePolicy(apps: []))
            return (EvidenceVerifier(policy: policy), SystemClock().now())
        }
        let loaded = try ConfigurationOptions.settings(of: self.lab, config: self.config)
        let lab = try LabBoundary.lab(of: loaded)
        let verifier = try AttestationSettings.verifier(
            loaded.settings,
            isLab: lab != nil,
            statusList: try AttestationSettings.statusList(loaded.settings)
        )
        guard let lab else { return (verifier, SystemClock().now()) }
        return (verifier, try explaining(.files) { try FollowedLabClock(file: lab.clockFile).now() })
    }
}
