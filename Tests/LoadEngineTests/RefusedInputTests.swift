import Foundation
import TestSupport
import Testing

@Suite("Input that pin-load rejects")
struct RefusedInputTests {
    @Test(
        "invalid options are rejected with a message and exit code 1",
        arguments: [
            (["flood", "--lab", "/nowhere", "--kinds", ","], "name at least one kind"),
            (
                ["run", "--lab", "/nowhere", "--wallets", "/nowhere", "--stages", "5s:5", "--connections", "20"],
                "--connections: stages define the connections"
            ),
            (
                ["run", "--lab", "/nowhere", "--wallets", "/nowhere", "--stages-file", "FILE", "--connections", "20"],
                "--connections: stages define the connections"
            ),
            (
                ["run", "--lab", "/nowhere", "--wallets", "/nowhere", "--attack", "burst:8", "--abort-on-fail"],
                "--abort-on-fail: not together with --attack"
            ),
            (
                ["run", "--lab", "/nowhere", "--wallets", "/nowhere", "--attack", "burst:8", "--server-pid", "1"],
                "--server-pid: not together with --attack"
            ),
        ] as [([String], String)]
    )
    func refused(arguments: [String], message: String) async throws {
        let folder = TemporaryFolder()
        let stages = try folder.write("stages:\n  - {for: 5s, at: 5}\n", to: "stages.yaml")
        let run = try await ServerProcess.run("pin-load", arguments.map { $0 == "FILE" ? stages : $0 })
        #expect(run.exitCode == 1)
        #expect(run.output.contains(message), "\(run.output)")
    }

    @Test("a symbolic link to a file of wallets is rejected with a message")
    func link() async throws {
        let lab = try await LoadLab.start(wallets: 1)
        let link = lab.folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: lab.walletsFile)
        let run = try await ServerProcess.run(
            "pin-load",
            ["run", "--lab", lab.path, "--wallets", link, "--connections", "1", "--duration", "1s"]
        )
        #expect(run.exitCode == 1)
        #expect(run.output.contains("\(link): a symbolic link, which is not followed"), "\(run.output)")
        await lab.server.terminate()
    }
}
