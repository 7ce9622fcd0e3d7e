internal import ArgumentParser
internal import AttestationVerifier
internal import HostSystem
internal import RemotePINServer
internal import ServerCommandLine

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
