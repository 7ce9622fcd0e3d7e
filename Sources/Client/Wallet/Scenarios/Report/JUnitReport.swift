/// Results as JUnit XML for CI servers: one test suite with a test case for each scenario.
enum JUnitReport {
    private static let suite = "scenarios"

    static func text(_ report: Report) -> String {
        let skipped = report.count(.skipped)
        let uncovered = report.coverage.map { $0.missing.isEmpty ? 0 : 1 } ?? 0
        let failed = report.results.count(where: \.hasFailed) + uncovered
        let tests = report.results.count + (report.coverage == nil ? 0 : 1)
        let sums = [
            ("name", Self.suite), ("tests", "\(tests)"), ("failures", "\(failed)"), ("skipped", "\(skipped)"),
            ("errors", "0"), ("time", report.duration.secondsText),
        ]
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites\(Self.attributes(sums.filter { $0.0 != "name" }))>\n"
        text += "  <testsuite\(Self.attributes(sums))>\n"
        for result in report.results { text += Self.testCase(result) }
        if let coverage = report.coverage { text += Self.testCase(coverage) }
        return text + "  </testsuite>\n</testsuites>\n"
    }

    private static func testCase(_ result: ScenarioResult) -> String {
        let head = Self.attributes([
            ("classname", Self.suite), ("name", result.name), ("file", result.path),
            ("time", result.duration.secondsText),
        ])
        switch result.outcome {
        case .passed:
            let failures = result.earlierFailures.map { failure in
                let message = Self.attributes([("message", failure.message), ("type", "expectation")])
                return "      <flakyFailure\(message)>\(Self.escaped(Self.detail(failure, result)))</flakyFailure>\n"
            }.joined()
            guard !result.skips.isEmpty || !failures.isEmpty else { return "    <testcase\(head)/>\n" }
            guard !result.skips.isEmpty else { return "    <testcase\(head)>\n\(failures)    </testcase>\n" }
            let skips = result.skips.map { "skipped, line \($0.line), \($0.step): \($0.reason)" }
            let output = Self.escaped(skips.joined(separator: "\n"))
            return "    <testcase\(head)>\n\(failures)      <system-out>\(output)</system-out>\n    </testcase>\n"
        case .skipped(let reason):
            let message = Self.attributes([("message", reason)])
            return "    <testcase\(head)>\n      <skipped\(message)/>\n    </testcase>\n"
        case .failed(let failure):
            let message = Self.attributes([("message", failure.message), ("type", "expectation")])
            let detail = Self.escaped(Self.detail(failure, result))
            return "    <testcase\(head)>\n      <failure\(message)>\(detail)</failure>\n    </testcase>\n"
        }
    }

    private static func testCase(_ coverage: Coverage) -> String {
        let head = Self.attributes([("classname", Self.suite), ("name", "every step of the flows is reached")])
        guard !coverage.missing.isEmpty else { return "    <testcase\(head)/>\n" }
        let message = Self.attributes([("message", "\(coverage.missing.count) steps are not reached")])
        let detail = Self.escaped(coverage.missing.joined(separator: "\n"))
        return "    <testcase\(head)>\n      <failure\(message)>\(detail)</failure>\n    </testcase>\n"
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

    /// Text for XML 1.0; characters that XML cannot represent become U+FFFD.
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
