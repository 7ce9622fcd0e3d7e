internal import SimulatedPhone
internal import WalletFlows

/// Formats results as JUnit XML for CI servers: one test suite per folder and one test case per scenario.
enum JUnitReport {
    static func text(_ report: Report) -> String {
        var suites: [Suite] = []
        for result in report.results {
            let folder = Self.folder(of: result.path)
            if let index = suites.firstIndex(where: { $0.name == folder }) {
                suites[index].add(result)
            } else {
                var suite = Suite(name: folder)
                suite.add(result)
                suites.append(suite)
            }
        }
        if let coverage = report.coverage { suites.append(Suite(coverage)) }
        let sums = Self.sums(suites, time: report.duration)
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites\(Self.attributes(sums))>\n"
        return text + suites.map(\.text).joined() + "</testsuites>\n"
    }

    /// The scenarios in one folder.
    private struct Suite {
        let name: String
        var time = Duration.zero
        var (tests, failures, skipped) = (0, 0, 0)
        var cases = ""

        init(name: String) { self.name = name }

        init(_ coverage: Coverage) {
            self.init(name: "coverage")
            (self.tests, self.failures) = (1, coverage.missing.isEmpty ? 0 : 1)
            self.cases = JUnitReport.testCase(coverage)
        }

        mutating func add(_ result: ScenarioResult) {
            self.time += result.duration
            self.tests += 1
            if result.verdict == .failed { self.failures += 1 }
            if result.verdict == .skipped || result.verdict == .knownFailure { self.skipped += 1 }
            self.cases += JUnitReport.testCase(result, suite: self.name)
        }

        var text: String {
            let head = [("name", self.name)] + JUnitReport.sums([self], time: self.time)
            return "  <testsuite\(JUnitReport.attributes(head))>\n\(self.cases)  </testsuite>\n"
        }
    }

    private static func sums(_ suites: [Suite], time: Duration) -> [(String, String)] {
        func sum(_ count: (Suite) -> Int) -> String { "\(suites.reduce(0) { $0 + count($1) })" }
        return [
            ("tests", sum(\.tests)), ("failures", sum(\.failures)), ("skipped", sum(\.skipped)), ("errors", "0"),
            ("time", time.secondsText),
        ]
    }

    private static func folder(of path: String) -> String {
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return folder.isEmpty ? "." : folder
    }

    private static func testCase(_ result: ScenarioResult, suite: String) -> String {
        let head = Self.attributes([
            ("classname", suite), ("name", result.name), ("file", result.path), ("time", result.duration.secondsText),
        ])
        var text = "    <testcase\(head)>\n" + Self.properties(result)
        for failure in result.earlierFailures {
            text += Self.element("flakyFailure", failure.message, Self.detail(failure, result))
        }
        switch result.outcome {
        case .passed: break
        case .skipped(let reason): text += "      <skipped\(Self.attributes([("message", reason)]))/>\n"
        case .knownFailure(let reason, let failure):
            let message = "known failure: \(reason) (\(failure.summary))"
            text += "      <skipped\(Self.attributes([("message", message)]))/>\n"
        case .failed(let failure): text += Self.element("failure", failure.message, Self.detail(failure, result))
        }
        let output = Self.trace(result)
        if !output.isEmpty { text += "      <system-out>\(Self.escaped(output))</system-out>\n" }
        return text + "    </testcase>\n"
    }

    /// Returns the properties imported by test management tools.
    private static func properties(_ result: ScenarioResult) -> String {
        let properties = [
            ("case", result.caseID), ("steps", "\(result.stepsDone) of \(result.stepsInAll)"),
            ("steps-of-flows", result.reached.joined(separator: " ")),
        ]
        let lines = properties.map { name, value in
            "        <property\(Self.attributes([("name", name), ("value", value)]))/>\n"
        }
        return "      <properties>\n\(lines.joined())      </properties>\n"
    }

    private static func element(_ name: String, _ message: String, _ detail: String) -> String {
        let attributes = Self.attributes([("message", message), ("type", "expectation")])
        return "      <\(name)\(attributes)>\(Self.escaped(detail))</\(name)>\n"
    }

    /// Lists the file's steps, each with the resulting screen and the flow steps taken.
    private static func trace(_ result: ScenarioResult) -> String {
        result.steps.map { step in
            let screen = step.picture.screen
            var line = "line \(step.line), \(step.text): "
            if case .skipped(let reason) = step.outcome { line += "skipped, \(reason); " }
            if step.outcome == .failed { line += "failed; " }
            line += screen.step.isEmpty ? "no app is running" : "\(screen.step) \(screen.title)"
            return step.trace.isEmpty ? line : "\(line) [\(step.trace.joined(separator: " "))]"
        }.joined(separator: "\n")
    }

    private static func testCase(_ coverage: Coverage) -> String {
        let head = Self.attributes([("classname", "coverage"), ("name", "every step of the flows is reached")])
        guard !coverage.missing.isEmpty else { return "    <testcase\(head)/>\n" }
        let message = "\(coverage.missing.count) steps are not reached"
        let failure = Self.element("failure", message, coverage.missing.joined(separator: "\n"))
        return "    <testcase\(head)>\n\(failure)    </testcase>\n"
    }

    private static func detail(_ failure: ScenarioResult.Failure, _ result: ScenarioResult) -> String {
        var lines = ["\(result.path):\(failure.line): \(failure.step)", failure.message]
        lines += failure.differences.map { "\($0.what): expected \($0.expected), seen \($0.seen)" }
        lines += failure.screen
        if !failure.trace.isEmpty { lines.append(failure.trace.joined(separator: " ")) }
        return (lines + failure.log).joined(separator: "\n")
    }

    private static func attributes(_ pairs: [(String, String)]) -> String {
        pairs.map { " \($0.0)=\"\(Self.escaped($0.1))\"" }.joined()
    }

    /// Escapes text for XML 1.0.
    ///
    /// Characters that XML cannot represent are replaced with U+FFFD.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n", "\t": result += "&#\(scalar.value);"
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
