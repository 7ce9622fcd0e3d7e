import Foundation
import FoundationXML
import Testing
import Yams

@testable import Scenarios

@Suite("Reports")
struct ReportTests {
    private static let failure = ScenarioResult.Failure(
        line: 12,
        step: "expect screen: UC2.3/1.3",
        message: "the screen is not as <expected> & \"quoted\"",
        differences: [.init(what: "screen", expected: "UC2.3/1.3", seen: "PF2.8/2.1")],
        screen: ["PF2.8/2.1 (prompt) Wrong PIN, retry", "bell \u{7} # here"],
        trace: ["UC2.3/1.3a", "PF2.8/1.1d"],
        log: ["notice refused wallet=00"]
    )

    private static func result(_ caseID: String, _ outcome: ScenarioResult.Outcome) -> ScenarioResult {
        ScenarioResult(
            path: "Tests/\(caseID).yaml",
            caseID: caseID,
            title: "Shows # this & that",
            outcome: outcome,
            duration: .milliseconds(1034),
            stepsDone: 3,
            stepsInAll: 9,
            reached: ["UC2.3/1.3", "UC2.3/1.3a"],
            skips: caseID == "A" ? [.init(line: 4, step: "server", reason: "not ours")] : []
        )
    }

    private let report = Report(
        results: [
            Self.result("A", .passed), Self.result("B", .failed(Self.failure)),
            Self.result("C", .skipped("line 4, advance: not a lab")),
        ],
        duration: .milliseconds(2500),
        coverage: Coverage(of: [Self.result("A", .passed)], in: "# ids\nUC2.3/1.3\nUC2.3/1.3a\n\nUC2.3/1.3b\n")
    )

    @Test("the text shows expected and actual values side by side, the screen, the trace and the server's log")
    func text() {
        let text = self.report.text(as: .text)
        #expect(text.contains("1 passed, 1 failed, 1 skipped in 2.500 s"))
        #expect(text.contains("Tests/B.yaml:12: expect screen: UC2.3/1.3"))
        #expect(text.contains("screen  UC2.3/1.3  PF2.8/2.1"))
        for part in ["UC2.3/1.3a PF2.8/1.1d", "notice refused wallet=00", "not a lab", "not reached UC2.3/1.3b"] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(!text.contains("\u{1B}"))
        #expect(self.report.text(as: .text, colored: true).contains("\u{1B}[31mFAILED"))
    }

    @Test("TAP 14: a plan, a line for each scenario, directives, and YAML diagnostics")
    func tap() throws {
        let lines = self.report.text(as: .tap).split(separator: "\n").map(String.init)
        #expect(lines.first == "TAP version 14" && lines[1] == "1..4")
        let points = lines.filter { $0.hasPrefix("ok ") || $0.hasPrefix("not ok ") }
        #expect(
            points == [
                "ok 1 - A Shows \\# this & that", "not ok 2 - B Shows \\# this & that",
                "ok 3 - C Shows \\# this & that # SKIP line 4, advance: not a lab",
                "not ok 4 - every step of the flows is reached",
            ]
        )
        let blocks = lines.joined(separator: "\n").components(separatedBy: "  ---\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n  ...").first }
        #expect(blocks.count == 3)
        let second = try #require(try Yams.compose(yaml: blocks[blocks.startIndex + 1]))
        #expect(second["message"]?.string == Self.failure.message)
        #expect(second["screen"]?.sequence?.last?.string == "bell \u{7} # here")
        #expect(second["trace"]?.sequence?.compactMap(\.string) == Self.failure.trace)
    }

    @Test("JUnit: well-formed XML with correct totals, even for messages with special characters")
    func junit() throws {
        let reader = JUnitReader()
        let parser = XMLParser(data: Data(self.report.text(as: .junit).utf8))
        parser.delegate = reader
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
        #expect(reader.suite?["tests"] == "4" && reader.cases.count == 4)
        #expect(reader.suite?["failures"] == "2" && reader.failures.count == 2)
        #expect(reader.suite?["skipped"] == "1" && reader.skips == ["line 4, advance: not a lab"])
        #expect(reader.cases.first == "A Shows # this & that")
        #expect(reader.failures.first == Self.failure.message)
        #expect(reader.text.contains("screen: expected UC2.3/1.3, seen PF2.8/2.1"))
    }

    @Test("JSON: all parts of the results by name")
    func json() throws {
        let object = try JSONSerialization.jsonObject(with: Data(self.report.text(as: .json).utf8))
        let root = try #require(object as? [String: Any])
        #expect(root["v"] as? Int == 1 && root["failed"] as? Int == 1 && root["durationMs"] as? Int == 2500)
        let scenarios = try #require(root["scenarios"] as? [[String: Any]])
        #expect(scenarios.compactMap { $0["outcome"] as? String } == ["passed", "failed", "skipped"])
        let failure = try #require(scenarios[1]["failure"] as? [String: Any])
        #expect(failure["line"] as? Int == 12 && failure["message"] as? String == Self.failure.message)
        let coverage = try #require(root["coverage"] as? [String: Any])
        #expect(coverage["missing"] as? [String] == ["UC2.3/1.3b"] && coverage["inAll"] as? Int == 3)
    }

    @Test("a failed scenario or an unreached step makes the run fail; a skip does not")
    func success() {
        #expect(!self.report.isSuccess)
        let passed = [Self.result("A", .passed), Self.result("C", .skipped("no lab"))]
        #expect(Report(results: passed, duration: .zero).isSuccess)
        let uncovered = Coverage(of: passed, in: "UC1.1/1.1")
        #expect(!Report(results: passed, duration: .zero, coverage: uncovered).isSuccess)
    }

    @Test("a flaky scenario is not counted as passed in any format, and its failure is shown")
    func flaky() throws {
        var flaky = Self.result("A", .passed)
        flaky.earlierFailures = [Self.failure]
        let report = Report(results: [flaky, Self.result("C", .passed)], duration: .zero)
        #expect(report.isSuccess)
        let text = report.text(as: .text)
        #expect(text.contains("1 passed, 0 failed, 0 skipped, 1 flaky"))
        #expect(text.contains("FLAKY  A") && text.contains("Tests/A.yaml:12: expect screen: UC2.3/1.3"))
        let object = try JSONSerialization.jsonObject(with: Data(report.text(as: .json).utf8))
        let root = try #require(object as? [String: Any])
        #expect(root["passed"] as? Int == 1 && root["flaky"] as? Int == 1)
        let scenarios = try #require(root["scenarios"] as? [[String: Any]])
        #expect(scenarios.compactMap { $0["outcome"] as? String } == ["flaky", "passed"])
        #expect((scenarios[0]["earlierFailures"] as? [[String: Any]])?.first?["line"] as? Int == 12)
        #expect(report.text(as: .tap).contains("  flaky:\n    - \"line 12, expect screen"))
        #expect(report.text(as: .junit).contains("<flakyFailure message=\"the screen is not as &lt;expected&gt;"))
    }

    @Test("repetitions with different outcomes are counted at the end")
    func repetitions() {
        let results = (1...4).map { number in
            var result = Self.result("A", number == 3 ? .failed(Self.failure) : .passed)
            result.repetition = number
            return result
        }
        let text = Report(results: results, duration: .zero).text(as: .text)
        #expect(text.contains("FLAKY Tests/A.yaml: 3 of 4 repetitions passed"))
        #expect(text.contains("passed A (2)  Shows"))
        let steady = Report(results: results.filter { $0.verdict == .passed }, duration: .zero)
        #expect(!steady.text(as: .text).contains("FLAKY"))
    }

    @Test("the table of scenarios sorts cases by number and groups their steps by flow")
    func page() {
        let results = ["SB10", "SB2"].map { Self.result($0, .passed) }
        let rows = ScenarioPage.text(results).split(separator: "\n").filter { $0.hasPrefix("| [") }
        #expect(
            rows.map(String.init) == [
                "| [SB2](../Tests/Scenarios/SB2.yaml) | Shows # this & that | **UC2.3** 1.3 1.3a |",
                "| [SB10](../Tests/Scenarios/SB10.yaml) | Shows # this & that | **UC2.3** 1.3 1.3a |",
            ]
        )
    }
}

/// Reads the parts of the XML that a CI server reads.
private final class JUnitReader: NSObject, XMLParserDelegate {
    var suite: [String: String]?
    var cases: [String] = []
    var failures: [String] = []
    var skips: [String] = []
    var text = ""

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        switch name {
        case "testsuite": self.suite = attributes
        case "testcase": self.cases.append(attributes["name"] ?? "")
        case "failure": self.failures.append(attributes["message"] ?? "")
        case "skipped": self.skips.append(attributes["message"] ?? "")
        default: return
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { self.text += string }
}
