import Foundation
import TestSupport
import Testing

/// `wallet explain` with the real program.
@Suite("The command that explains codes")
struct ExplainTests {
    private func explain(_ arguments: String...) async throws -> ProgramRun {
        try await ServerProcess.run("wallet", ["explain"] + arguments)
    }

    /// The codes of an output with their explanations, which may have several lines.
    private func explanations(_ output: String) -> [String: String] {
        var explanations: [String: String] = [:]
        var code = ""
        for line in output.split(separator: "\n") {
            if line.hasPrefix("    ") {
                explanations[code] = [explanations[code], String(line.dropFirst(4))].compactMap(\.self)
                    .joined(separator: " ")
            } else {
                code = String(line)
            }
        }
        return explanations
    }

    @Test("every cause is explained in the words of docs/wallet-errors.md")
    func causes() async throws {
        let run = try await self.explain()
        #expect(run.exitCode == 0)
        let explained = self.explanations(run.output)
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/wallet-errors.md")
        let rows = try String(contentsOf: path, encoding: .utf8).matches(of: /(?m)^\| `([a-z-]+)` \| (.*) \|$/)
        #expect(rows.count > 30)
        for row in rows { #expect(explained[String(row.1)] == String(row.2)) }
        #expect(explained.count == rows.count + 16, "and the exit statuses")
    }

    @Test("a cause, an id on the screen, an exit status and an outcome are found, and other codes are refused")
    func codes() async throws {
        for code in ["access-data", "wallet-access-data-4f2a99c1"] {
            let run = try await self.explain(code)
            #expect(run.exitCode == 0 && run.output.hasPrefix("access-data\n    The right PIN"), "\(run.output)")
        }
        for code in ["10", "wrong-pin"] {
            #expect(try await self.explain(code).output.hasPrefix("wrong-pin (exit 10)\n"))
        }
        for code in ["1", "69", "130"] {
            #expect(try await self.explain(code).output.hasPrefix("wallet run (exit \(code))\n"))
        }
        let unknown = try await self.explain("acces-data")
        #expect(unknown.exitCode == 64 && unknown.output.contains("did you mean `access-data`?"), "\(unknown.output)")
        #expect(try await self.explain("4f2a99").exitCode == 64)
        #expect(try await self.explain("wallet-nothing-4f2a99c1").exitCode == 64)
    }
}
