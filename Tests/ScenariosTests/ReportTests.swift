import ConfigText
import Foundation
import FoundationXML
import SimulatedPhone
import Testing
import WalletFlows

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

    @Test("JUnit: well-formed XML with a suite for each folder and correct totals, even with special characters")
    func junit() throws {
        var other = Self.result("D", .failed(Self.failure))
        other.path = "more/D.yaml"
        let report = Report(
            results: self.report.results + [other],
            duration: .milliseconds(2500),
            coverage: self.report.coverage
        )
        let reader = try JUnitReader(report.text(as: .junit))
        #expect(reader.suites.map { $0["name"] } == [nil, "Tests", "more", "coverage"])
        #expect(reader.suites.map { $0["tests"] } == ["5", "3", "1", "1"])
        #expect(reader.suites.map { $0["failures"] } == ["3", "1", "1", "1"])
        #expect(reader.suites.map { $0["skipped"] } == ["1", "1", "0", "0"])
        #expect(reader.suites.map { $0["time"] } == ["2.500", "3.102", "1.034", "0.000"])
        #expect(reader.cases.count == 5 && reader.cases.first == "A Shows # this & that")
        #expect(reader.failures.count == 3 && reader.failures.first == Self.failure.message)
        #expect(reader.skips == ["line 4, advance: not a lab"])
        #expect(reader.text.contains("screen: expected UC2.3/1.3, seen PF2.8/2.1"))
        #expect(reader.properties.prefix(3) == ["case=A", "steps=3 of 9", "steps-of-flows=UC2.3/1.3 UC2.3/1.3a"])
    }

    @Test("JUnit: the output of a case is its steps with the screen after each")
    func junitTrace() throws {
        var result = Self.result("A", .failed(Self.failure))
        var screen = Screen.none
        (screen.step, screen.title) = ("UC2.3/1.3", "Open app")
        let steps: [(line: Int, text: String, outcome: StepRecord.Outcome)] = [
            (4, "launch", .done), (5, "server", .skipped("not ours")), (12, "expect", .failed),
        ]
        for step in steps {
            result.steps.append(
                StepRecord(
                    line: step.line,
                    text: step.text,
                    outcome: step.outcome,
                    duration: .zero,
                    phone: "first",
                    picture: Picture(step.line == 4 ? Screen.none : screen),
                    trace: step.line == 12 ? [] : ["UC2.3/1.3"],
                    startMilliseconds: 0
                )
            )
        }
        let reader = try JUnitReader(Report(results: [result], duration: .zero).text(as: .junit))
        for line in [
            "line 4, launch: no app is running [UC2.3/1.3]\n",
            "line 5, server: skipped, not ours; UC2.3/1.3 Open app [UC2.3/1.3]\n",
            "line 12, expect: failed; UC2.3/1.3 Open app",
        ] { #expect(reader.text.contains(line), "\(reader.text)") }
    }

    @Test("GitHub: an annotation at the line of each failure, and no text of a scenario ends a command")
    func github() {
        var flaky = Self.result("A", .passed)
        flaky.earlierFailures = [Self.failure]
        var hostile = Self.failure
        hostile.message = "100%\r\n::stop-commands::x"
        let report = Report(
            results: [flaky, Self.result("B", .failed(hostile)), Self.result("C", .skipped("no lab"))],
            duration: .zero,
            coverage: self.report.coverage
        )
        let lines = report.text(as: .github).split(separator: "\n").map(String.init)
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix("::warning file=Tests/A.yaml,line=12,title=A Shows # this & that is flaky::expect"))
        #expect(
            lines[1]
                == "::error file=Tests/B.yaml,line=12,title=B Shows # this & that failed::expect screen: UC2.3/1.3: "
                + "100%25%0D%0A::stop-commands::x%0Ascreen: expected UC2.3/1.3, seen PF2.8/2.1"
        )
        #expect(lines[2] == "::notice file=Tests/C.yaml,title=C Shows # this & that was skipped::no lab")
        #expect(lines[3] == "::error title=steps of the flows that no scenario reaches::UC2.3/1.3b")
        #expect(lines[4] == "0 passed, 1 failed, 1 skipped, 1 flaky in 0.000 s")
    }

    @Test("text: no text of a scenario begins a workflow command")
    func commands() throws {
        let yaml = "case: X\ntitle: \"a\\n::error::b\"\nknown failure: \"c\\n::error::d\"\nsteps: [launch]"
        let scenario = try Scenario(yaml: yaml, path: "a\n::error::\u{1B}b.yaml")
        var failure = Self.failure
        (failure.message, failure.screen, failure.log) = ("a\n::error::e", ["::error::f"], ["  ::error::g"])
        let mark = try #require(scenario.knownFailure)
        for outcome in [ScenarioResult.Outcome.failed(failure), .knownFailure(mark.reason, failure)] {
            let report = Report(results: [ScenarioResult(scenario, outcome)], duration: .zero)
            for line in report.text(as: .text).split(separator: "\n") {
                #expect(!line.drop { $0 == " " }.hasPrefix("::") && !line.contains("\u{1B}"), "\(line)")
            }
        }
        let error = #expect(throws: ConfigError.self) { try Scenario(yaml: "case: \"x\\n::error::y\"", path: "a\n::b") }
        #expect(error?.description.split(separator: "\n").contains { $0.hasPrefix("::") } == false)
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
        #expect(report.text(as: .junit).contains("<flakyFailure message=\"the screen is not as &lt;expected&gt;"))
    }

    @Test("a known failure makes no run fail, and every format states its reason and what failed")
    func knownFailure() throws {
        let report = Report(results: [Self.result("A", .knownFailure("#1 & more", Self.failure))], duration: .zero)
        #expect(report.isSuccess)
        let text = report.text(as: .text)
        #expect(text.contains("0 passed, 0 failed, 0 skipped, 1 known to fail"))
        #expect(text.contains("      #1 & more\n      line 12, expect screen: UC2.3/1.3: the screen is not"))
        let reader = try JUnitReader(report.text(as: .junit))
        #expect(reader.suites.map { $0["skipped"] } == ["1", "1"] && reader.failures.isEmpty)
        #expect(reader.skips.first?.hasPrefix("known failure: #1 & more (line 12, expect screen") == true)
        #expect(report.text(as: .github).hasPrefix("::notice file=Tests/A.yaml,line=12,title=A Shows # this & that is"))
        let object = try JSONSerialization.jsonObject(with: Data(report.text(as: .json).utf8))
        let root = try #require(object as? [String: Any])
        #expect(root["knownFailures"] as? Int == 1 && root["failed"] as? Int == 0)
        let entry = try #require((root["scenarios"] as? [[String: Any]])?.first)
        #expect(entry["outcome"] as? String == "known-failure" && entry["reason"] as? String == "#1 & more")
        #expect((entry["failure"] as? [String: Any])?["line"] as? Int == 12)
        let pages = HTMLReport(report).pages.map(\.html)
        #expect(pages.allSatisfy { $0.contains("verdict known-failure") } && pages[1].contains("#1 &amp; more"))
    }

    @Test("only the failed scenarios of a JSON report are its failed files, and another text has none")
    func failedFiles() {
        let known = Self.result("K", .knownFailure("#1", Self.failure))
        let report = Report(results: self.report.results + [known], duration: .zero)
        #expect(JSONReport.failedFiles(in: report.text(as: .json)) == ["Tests/B.yaml"])
        #expect(JSONReport.failedFiles(in: report.text(as: .junit)) == nil)
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
    /// The attributes of the whole, then of each suite.
    var suites: [[String: String]] = []
    var cases: [String] = []
    var properties: [String] = []
    var failures: [String] = []
    var skips: [String] = []
    var text = ""

    init(_ xml: String) throws {
        super.init()
        let parser = XMLParser(data: Data(xml.utf8))
        parser.delegate = self
        guard parser.parse() else { throw try #require(parser.parserError) }
    }

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String] = [:]
    ) {
        switch name {
        case "testsuites", "testsuite": self.suites.append(attributes)
        case "testcase": self.cases.append(attributes["name"] ?? "")
        case "property": self.properties.append("\(attributes["name"] ?? "")=\(attributes["value"] ?? "")")
        case "failure": self.failures.append(attributes["message"] ?? "")
        case "skipped": self.skips.append(attributes["message"] ?? "")
        default: return
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { self.text += string }
}
