import Foundation
import HostSystem
import TestSupport
import Testing

/// All scenarios, with servers at their most verbose log level, and a search through their output.
@Suite("Secrets in the logs of all scenarios")
struct ScenarioSecrecyTests {
    private let folder = TemporaryFolder()
    private static let scenarios = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Scenarios").path

    private func texts(_ names: [String], in folder: String) throws -> [(name: String, text: String)] {
        try names.map { name in
            (name, String(decoding: try DurableFile.read("\(folder)/\(name)", atMost: 1 << 26), as: UTF8.self))
        }
    }

    /// The files with steps, in the folder of scenarios and those below.
    private func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: Self.scenarios).filter { $0.hasSuffix(".yaml") }
    }

    /// The PINs in scenarios: six digits in quotes, or after `enter:` and `pin:`.
    private func pins() throws -> Set<String> {
        let names = try self.files()
        let text = try self.texts(names, in: Self.scenarios).map(\.text).joined(separator: "\n")
        let quoted = text.matches(of: /"([0-9]{6})"/).map { String($0.1) }
        return Set(quoted + text.matches(of: /(?:enter|pin): ?"?([0-9]{6})\b/).map { String($0.1) })
    }

    @Test("a server's log at level debug and its metrics contain no PIN, key, share, code or evidence")
    func scenarios() async throws {
        var scanner = SecretScanner()
        let pins = try self.pins()
        try #require(pins.count >= 5)
        for pin in pins { scanner.add("PIN", word: pin) }
        let logs = "\(self.folder.path)/logs"
        let scrapes = MetricsScraper(logs: logs)
        let run = try await scrapes.during {
            try await ServerProcess.run("wallet", ["run", Self.scenarios, "--server-logs", logs])
        }
        #expect(run.exitCode == 0, "\(run.output.suffix(2000))")
        let written = try self.texts(try DurableFile.names(in: logs), in: logs)
        let count = try self.files().count { !$0.hasSuffix(".steps.yaml") && !$0.hasSuffix("folder.yaml") }
        #expect(written.count == count, "each scenario's server has written a log")
        var lines = 0
        for (name, text) in written {
            lines += text.count { $0 == "\n" }
            let findings = scanner.findings(inLines: text)
            #expect(findings.isEmpty, "\(name): \(findings.prefix(5))")
        }
        #expect(lines > 20 * count && written.contains { $0.text.contains("\"level\":\"debug\"") })
        print("searched \(lines) lines of \(count) servers, \(scrapes.texts.count) scrapes for \(pins.count) PINs")
        // Four scrapes a second; the machine's speed decides how many servers run long enough for one.
        #expect(!scrapes.texts.isEmpty)
        for text in scrapes.texts {
            let findings = scanner.findings(in: text)
            #expect(findings.isEmpty, "\(findings)")
        }
        // The same search finds secrets that the test adds to the output.
        let some = try #require(written.first)
        let pin = try #require(pins.first)
        #expect(scanner.findings(inLines: some.text + "{\"message\":\"entered \(pin)\"}\n").count == 1)
        let share = (0..<32).map { _ in UInt8.random(in: 0...255) }
        for form in [
            Data(share).base64EncodedString(), share.map { String(0x100 + Int($0), radix: 16).dropFirst() }.joined(),
        ] {
            #expect(scanner.findings(inLines: some.text + "{\"message\":\"m\",\"share\":\"\(form)\"}\n").count == 1)
        }
    }
}
