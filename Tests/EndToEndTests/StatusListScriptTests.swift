import Foundation
import HostSystem
import TestSupport
import Testing

/// The script that fetches the list of revoked Android keys.
@Suite("The script that fetches the status list")
struct StatusListScriptTests {
    private let folder = TemporaryFolder()
    private static let good = #"{"entries":{"c35747a084470c3135aeefe2b8d40cd6":{"status":"REVOKED"}}}"#
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("deploy/maintenance/fetch-status-list").path

    /// Runs the script with an answer of these bytes.
    private func fetch(_ answer: String) async throws -> ProgramRun {
        let path = "\(URL(fileURLWithPath: Programs.path("wallet")).deletingLastPathComponent().path):/usr/bin:/bin"
        let url = "file://" + (try self.folder.write(answer, to: "answer"))
        let arguments = ["PATH=\(path)", Self.script, self.folder.file("status.json"), url]
        return try await ServerProcess.run("/usr/bin/env", arguments)
    }

    private var list: String? { try? String(contentsOfFile: self.folder.file("status.json"), encoding: .utf8) }

    @Test(
        "an answer that the server would not read leaves the old list in place, and no other file",
        arguments: [
            #"<html><script>{"entries": {}}</script></html>"#, String(Self.good.dropLast(2)), #"{"entries": 5}"#,
            #"{"entries":{"1":{}}}"#, "", "\u{1F}\u{8B}gzip", "\u{FEFF}" + Self.good,
            Self.good.replacingOccurrences(of: "c35", with: "c3:5"),
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

    @Test("the word `entries` elsewhere in a list is not taken for its entries")
    func wordElsewhere() async throws {
        let first = #"{"entries":{},"note":"entries: {a: b}"}"#
        #expect(try await self.fetch(first).exitCode == 0)
        #expect(try await self.fetch(#"{"note":{"entries":{}},"entries":{"a1":{"status":"REVOKED"}}}"#).exitCode == 0)
        #expect(self.list?.contains("a1") == true)
        let run = try await self.fetch(#"{"note":"\"entries\":{\"b\":1}","entries":{ } }"#)
        #expect(run.exitCode == 1 && run.output.contains("1 entries"), "\(run.output)")
    }

    @Test("a longer answer than the server reads is not stored")
    func long() async throws {
        let run = try await self.fetch(String(repeating: " ", count: 17 << 20))
        #expect(run.exitCode != 0 && !run.output.contains("stays"), "\(run.output)")
        #expect(try DurableFile.names(in: self.folder.path) == ["answer"])
    }

    @Test("each fault of the answer is named")
    func reason() async throws {
        let run = try await self.fetch(#"{"entries":{"0x1":{"status":"REVOKED"}}}"#)
        #expect(run.exitCode == 1 && run.output.contains("serial number in hexadecimal"), "\(run.output)")
    }
}
