internal import ConfigText

/// Formats results for people, with one line per scenario and the details of each failure.
package struct TextReport: Sendable {
    private let isColored: Bool

    package init(isColored: Bool) { self.isColored = isColored }

    func text(_ report: Report) -> String {
        report.results.map(self.result).joined() + self.end(report)
    }

    /// Returns the text for a single scenario.
    ///
    /// Threat: in the log of a GitHub workflow, a line that begins with two colons is a command, even after blanks.
    package func result(_ result: ScenarioResult) -> String {
        self.lines(of: result).replacing(/(?m)^([ ]*)::/) { "\($0.1)\\u{3A}:" }
    }

    private func lines(of result: ScenarioResult) -> String {
        let number = result.repetition.map { " (\($0))" } ?? ""
        let name = "\(result.caseID)\(number)  \(result.title)"
        let kept = result.folder.map { "      kept in \($0)\n" } ?? ""
        let time = self.dim("\(result.duration.secondsText) s")
        switch result.outcome {
        case .passed:
            let skips = result.skips.map { "      skipped, line \($0.line), \($0.step): \($0.reason)\n" }
            let word = result.verdict == .flaky ? self.yellow("FLAKY ") : self.green("passed")
            let failures = result.earlierFailures.enumerated().map { index, failure in
                "      failed in attempt \(index + 1)\n" + self.failure(failure, result)
            }
            return "\(word) \(name)  \(time)\n" + failures.joined() + skips.joined() + kept
        case .skipped(let reason):
            return "\(self.yellow("skipped")) \(name)  \(time)\n      \(reason)\n" + kept
        case .knownFailure(let reason, let failure):
            let lines = [reason, failure.summary].map { "      \($0)\n" }.joined()
            return "\(self.yellow("known failure")) \(name)  \(time)\n" + lines + kept
        case .failed(let failure):
            let attempts = result.earlierFailures.count + 1
            let tried = attempts > 1 ? "      failed in all \(attempts) attempts; the last one:\n" : ""
            return "\(self.red("FAILED")) \(name)  \(time)\n" + tried + self.failure(failure, result) + kept
        }
    }

    /// Returns the totals and the steps that were not reached.
    package func end(_ report: Report) -> String {
        let failed = report.results.filter(\.hasFailed)
        var text = self.totals(report) + "\n"
        for result in failed { text += "  \(self.red("FAILED")) \(result.path)\n" }
        for (path, passed, count) in report.unsteady {
            text += "  \(self.yellow("FLAKY")) \(path): \(passed) of \(count) repetitions passed\n"
        }
        guard let coverage = report.coverage else { return text }
        text += "steps reached: \(coverage.inAll - coverage.missing.count) of \(coverage.inAll)\n"
        for step in coverage.missing { text += "  \(self.red("not reached")) \(step)\n" }
        return text
    }

    /// Returns a line with the number of scenarios for each verdict.
    func totals(_ report: Report) -> String {
        let always = [("passed", ScenarioResult.Verdict.passed), ("failed", .failed), ("skipped", .skipped)]
        let others = [("flaky", ScenarioResult.Verdict.flaky), ("known to fail", .knownFailure)]
        let counts = (always + others.filter { report.count($0.1) > 0 }).map { "\(report.count($0.1)) \($0.0)" }
        return "\(counts.joined(separator: ", ")) in \(report.duration.secondsText) s"
    }

    private func failure(_ failure: ScenarioResult.Failure, _ result: ScenarioResult) -> String {
        let place = failure.line > 0 ? "\(result.path):\(failure.line): " : "\(result.path): "
        var text = "      \(place)\(failure.step)\n      \(failure.message)\n"
        text += self.table(failure.differences)
        text += self.part("the screen", failure.screen)
        text += self.part("steps taken", failure.trace.isEmpty ? [] : TextLayout.wrapped(failure.trace, width: 90))
        text += self.part("the server's log", failure.log)
        return text
    }

    /// Returns the expected and actual values, side by side if they are short enough.
    private func table(_ differences: [ScenarioResult.Difference]) -> String {
        guard !differences.isEmpty else { return "" }
        let rows = [("", "expected", "seen")] + differences.map { ($0.what, $0.expected, $0.seen) }
        let first = rows.map(\.0.count).max() ?? 0
        let second = rows.map(\.1.count).max() ?? 0
        guard second <= 60 else {
            return differences.map {
                "        \($0.what)\n          expected: \($0.expected)\n          seen:     \($0.seen)\n"
            }.joined()
        }
        return rows.map { row in
            "        \(TextLayout.padded(row.0, first))  \(TextLayout.padded(row.1, second))  \(row.2)\n"
        }.joined()
    }

    private func part(_ title: String, _ lines: [String]) -> String {
        guard !lines.isEmpty else { return "" }
        return "      \(self.dim(title))\n" + lines.map { "        \($0)\n" }.joined()
    }

    private func green(_ text: String) -> String { self.paint(text, "32") }
    private func red(_ text: String) -> String { self.paint(text, "31") }
    private func yellow(_ text: String) -> String { self.paint(text, "33") }
    private func dim(_ text: String) -> String { self.paint(text, "2") }

    private func paint(_ text: String, _ code: String) -> String {
        self.isColored ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
