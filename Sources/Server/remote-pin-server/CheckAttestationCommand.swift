internal import ArgumentParser
internal import AttestationVerifier
internal import HostSystem
internal import RemotePINServer
internal import ServerCommandLine

/// Verifies evidence or a status list from files in the same way as the server does.
struct CheckAttestationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-attestation",
        abstract: "Verify files: a manifest of cases, one phone's evidence with every check, or a status list.",
        discussion: """
            With a MANIFEST, verifies every case and prints one line for each: the result and the expected one. The \
            exit status is 0 only if all agree.

              remote-pin-server check-attestation vectors/manifest.json

            With --evidence, explains one piece of evidence: its certificates, its statements about the device, and \
            each check. The exit status is 0 if the evidence is accepted and 1 if it is rejected.

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

    @Option(help: ArgumentHelp("A status list (`android.status-list`).", valueName: "file"), completion: .file())
    var statusList: String?

    @OptionGroup var expectations: EvidenceExpectations

    func validate() throws {
        guard [self.manifest != nil, !self.evidence.isEmpty, self.statusList != nil].count(where: \.self) == 1 else {
            throw ValidationError("Name either a manifest, files with --evidence, or a --status-list.")
        }
        guard !self.evidence.isEmpty || self.expectations.isEmpty else {
            throw ValidationError("A manifest contains all expectations; the other options need --evidence.")
        }
    }

    func run() async throws {
        try await ending {
            let isGood =
                if let manifest {
                    try ManifestRun(path: manifest).run()
                } else if let statusList {
                    try Self.count(statusList)
                } else {
                    try self.explain()
                }
            if !isGood { throw ExitCode(1) }
        }
    }

    private static func count(_ path: String) throws -> Bool {
        let list = try explaining(.data) { try StatusListFile(path: path) }
        StandardStreams.writeOutput("\(list.current.count) entries\n")
        return true
    }

    private func explain() throws -> Bool {
        let evidence = try EvidenceFiles.read(self.evidence)
        let explanation = try self.expectations.explanation(of: evidence)
        StandardStreams.writeOutput(explanation.description)
        return explanation.refusal == nil
    }
}
