internal import ArgumentParser
internal import AttestationVerifier
internal import Evidence
internal import HostSystem
internal import LabFiles
internal import RemotePINServer
internal import ServerSettings
internal import Vocabulary

/// Verifies evidence or a status list from files in the same way as the server does.
struct CheckAttestationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-attestation",
        abstract: "Verify one phone's evidence in files with every check, or read a status list.",
        discussion: """
            Explains one piece of evidence: its certificates, its statements about the device, and each check. The \
            exit status is 0 if the evidence is accepted and 1 if it is rejected. `remote-pin-lab check-attestation` \
            verifies a manifest of cases.

              An Android chain, leaf first, as PEM or as one DER file for each certificate:
                remote-pin-server check-attestation --config /srv/remote-pin/server.yaml \\
                    --evidence chain.pem --challenge 5a0c…
              An App Attest attestation object:
                remote-pin-server check-attestation --app ABCDE12345.org.example.wallet \\
                    --evidence attestation.cbor --challenge 5a0c…
              An App Attest assertion:
                remote-pin-server check-attestation --app ABCDE12345.org.example.wallet \\
                    --evidence assertion.cbor --challenge 5a0c… --key 04b4… --counter 3

            With --status-list, checks that a file is Google's status list, without a configuration, and prints the \
            number of its entries. The exit status is 0 only if a server would use it.

            Policy, roots and status list are those of --config or --lab. Without either, the defaults of registration \
            and the vendors' roots apply, and the app of an Android chain is not checked.
            """
    )

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("The files of one piece of evidence.", valueName: "file"),
        completion: .file()
    )
    var evidence: [String] = []

    @Option(help: ArgumentHelp("A status list (`android.status-list`).", valueName: "file"), completion: .file())
    var statusList: String?

    @OptionGroup var expectations: EvidenceExpectations

    func validate() throws {
        guard self.evidence.isEmpty == (self.statusList != nil) else {
            throw ValidationError("Name either files with --evidence, or a --status-list.")
        }
        guard self.statusList == nil || self.expectations.isEmpty else {
            throw ValidationError("The other options need --evidence.")
        }
    }

    func run() async throws {
        try await ending {
            if let statusList {
                let list = try explaining(.data) { try StatusListFile(path: statusList) }
                StandardStreams.writeOutput("\(list.current.count) entries\n")
                return
            }
            let explanation = try self.expectations.explanation(of: EvidenceFiles.read(self.evidence))
            StandardStreams.writeOutput(explanation.description)
            if explanation.refusal != nil { throw ExitCode(1) }
        }
    }
}

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

/// A piece of evidence read from files.
///
/// Its kind is derived from the contents.
enum EvidenceFiles {
    /// A chain of DER certificates, leaf first.
    case android([[UInt8]])
    case appleAttestation([UInt8])
    case appleAssertion([UInt8])

    private static let longest = 1 << 20

    /// Reads evidence from one file, or from one file per certificate for an Android chain.
    static func read(_ paths: [String]) throws -> EvidenceFiles {
        let files = try paths.map { path in
            (path: path, bytes: try explaining(.files) { try InputFile.read(path, atMost: Self.longest) })
        }
        guard let first = files.first else { throw StartFailure(.data, "no file was named; use --evidence FILE") }
        if let apple = Self.apple(first.bytes) {
            guard files.count == 1 else {
                throw StartFailure(.data, "\(first.path) is App Attest evidence; name only that file")
            }
            return apple
        }
        var chain: [[UInt8]] = []
        for file in files { chain += try Self.certificates(file.bytes, path: file.path) }
        return .android(chain)
    }

    /// Recognizes an attestation object or an assertion by its CBOR map.
    ///
    /// Any other input that starts like a map is treated as an attestation object, which the verifier then rejects.
    private static func apple(_ bytes: [UInt8]) -> EvidenceFiles? {
        guard let first = bytes.first, 0xA0...0xBF ~= first else { return nil }
        let isAssertion = (try? AppAttestAssertion(decoding: bytes)) != nil
        return isAssertion ? .appleAssertion(bytes) : .appleAttestation(bytes)
    }

    private static func certificates(_ bytes: [UInt8], path: String) throws -> [[UInt8]] {
        if bytes.first == 0x30 { return [bytes] }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let certificates = PEM.certificates(in: text), !certificates.isEmpty else {
            let forms = "certificates (PEM or DER) nor the CBOR of App Attest"
            throw StartFailure(.data, "\(path) holds neither \(forms)")
        }
        return certificates
    }
}
