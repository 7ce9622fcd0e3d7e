import Foundation
import HostSystem
import LabFiles
import TestSupport
import Testing

/// The script that fetches the list of revoked Android keys.
@Suite("The script that fetches the status list")
struct StatusListScriptTests {
    private let folder = TemporaryFolder()
    private let lab: LabUnderTest
    private static let good = #"{"entries":{"c35747a084470c3135aeefe2b8d40cd6":{"status":"REVOKED"}}}"#
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("deploy/maintenance/fetch-status-list").path

    init() async throws {
        self.lab = try await LabUnderTest()
    }

    /// Runs the script with an answer of these bytes.
    private func fetch(_ answer: String, configuration: String? = nil) async throws -> ProgramRun {
        let path = "\(URL(fileURLWithPath: Programs.path("wallet")).deletingLastPathComponent().path):/usr/bin:/bin"
        let url = "file://" + (try self.folder.write(answer, to: "answer"))
        let configuration = configuration ?? self.lab.lab.configurationFile
        let arguments = ["PATH=\(path)", Self.script, self.folder.file("status.json"), url, configuration]
        return try await ServerProcess.run("/usr/bin/env", arguments)
    }

    private var list: String? { try? String(contentsOfFile: self.folder.file("status.json"), encoding: .utf8) }

    @Test(
        "an answer that the server would not read leaves the old list in place, and no other file",
        arguments: [
            #"<html><script>{"entries": {}}</script></html>"#, String(Self.good.dropLast(2)), #"{"entries": 5}"#,
            #"{"entries":{"x":{}}}"#, "", "\u{1F}\u{8B}gzip",
        ]
    )
    func foreign(answer: String) async throws {
        #expect(try await self.fetch(Self.good).exitCode == 0)
        #expect(self.list == Self.good)
        let run = try await self.fetch(answer)
        #expect(run.exitCode != 0 && run.output.contains("stays"), "\(run.output)")
        #expect(self.list == Self.good)
        #expect(try DurableFile.names(in: self.folder.path).sorted() == ["answer", "status.json"])
    }

    @Test("an empty list does not replace one with entries, and is named otherwise")
    func empty() async throws {
        let first = try await self.fetch(#"{ "entries": {} }"#)
        #expect(first.exitCode == 0 && first.output.contains("no entry"), "\(first.output)")
        #expect(try await self.fetch(Self.good).exitCode == 0)
        let run = try await self.fetch(#"{"entries":{}}"#)
        #expect(run.exitCode == 1 && run.output.contains("no entry"), "\(run.output)")
        #expect(self.list == Self.good)
    }

    @Test("without a configuration that the server would use, the list stays, and the reason is named")
    func otherProblem() async throws {
        #expect(try await self.fetch(Self.good).exitCode == 0)
        let file = try self.folder.write("tls: {certificate: /nowhere, key: /nowhere}\n", to: "server.yaml")
        let run = try await self.fetch("<html>", configuration: file)
        #expect(run.exitCode == 1 && run.output.contains("`android.apps`"), "\(run.output)")
        #expect(self.list == Self.good)
    }
}
