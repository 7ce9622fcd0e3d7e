internal import ArgumentParser
internal import AttestationVerifier
internal import HostSystem

/// Judges evidence that lies in files, as registration would.
struct CheckAttestationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-attestation",
        abstract: "Judge evidence in files: a whole manifest of cases, or one phone's, with every check.",
        discussion: """
            With a MANIFEST every case of it is judged, one line each: what came of it and what was expected. Ends with \
            status 0 only if all agree.

              remote-pin-server check-attestation vectors/manifest.json

            With --evidence one piece of evidence is explained: its certificates, what it says of the device, and each \
            check. Ends with status 0 if it is accepted, with 1 if it is refused.

              An Android chain, as PEM or as one DER file for each certificate, leaf first:
                remote-pin-server check-attestation --config /srv/remote-pin/server.yaml \\
                    --evidence chain.pem --challenge 5a0c…
              An App Attest attestation object:
                remote-pin-server check-attestation --app ABCDE12345.org.example.wallet \\
                    --evidence attestation.cbor --challenge 5a0c…
              An App Attest assertion:
                remote-pin-server check-attestation --app ABCDE12345.org.example.wallet \\
                    --evidence assertion.cbor --challenge 5a0c… --key 04b4… --counter 3

            Policy, roots and status list are those of --config or --lab. Without either they are registration's \
            standard ones with the vendors' roots, and an Android app is not looked at.
            """
    )

    @Argument(
        help: ArgumentHelp("A manifest (format attestation-vectors/1).", valueName: "manifest.json"),
        completion: .file(extensions: ["json"])
    )
    var manifest: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("The files of one piece of evidence.", valueName: "file"),
        completion: .file()
    )
    var evidence: [String] = []

    @OptionGroup var expectations: EvidenceExpectations

    func validate() throws {
        guard (self.manifest == nil) != self.evidence.isEmpty else {
            throw ValidationError("Name either a manifest or files with --evidence.")
        }
        guard self.manifest == nil || self.expectations.isEmpty else {
            throw ValidationError("A manifest states all expectations itself; the other options belong to --evidence.")
        }
    }

    func run() async throws {
        try await ending {
            let isGood =
                if let manifest { try ManifestRun(path: manifest).run() } else { try self.explain() }
            if !isGood { throw ExitCode(1) }
        }
    }

    private func explain() throws -> Bool {
        let evidence = try EvidenceFiles.read(self.evidence)
        let explanation = try self.expectations.explanation(of: evidence)
        StandardStreams.writeOutput(explanation.description)
        return explanation.refusal == nil
    }
}
