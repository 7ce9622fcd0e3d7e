internal import ConfigText

/// Formats results in the Test Anything Protocol, version 14 (testanything.org).
enum TAPReport {
    static func text(_ report: Report) -> String {
        var lines = ["TAP version 14", "1..\(report.results.count + (report.coverage == nil ? 0 : 1))"]
        for (index, result) in report.results.enumerated() { lines += Self.lines(result, number: index + 1) }
        if let coverage = report.coverage {
            let isWhole = coverage.missing.isEmpty
            lines.append(
                "\(isWhole ? "ok" : "not ok") \(report.results.count + 1) - every step of the flows is reached"
            )
            if !isWhole { lines += Self.block([("missing", coverage.missing)], []) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func lines(_ result: ScenarioResult, number: Int) -> [String] {
        let name = "\(number) - \(Self.escaped(result.name))"
        switch result.outcome {
        case .passed:
            let skips = result.skips.map { "line \($0.line), \($0.step): \($0.reason)" }
            let failures = result.earlierFailures.map { "line \($0.line), \($0.step): \($0.message)" }
            let lists = [("flaky", failures), ("skipped", skips)].filter { !$0.1.isEmpty }
            return ["ok \(name)"] + (lists.isEmpty ? [] : Self.block(lists, []))
        case .skipped(let reason):
            return ["ok \(name) # SKIP \(Self.escaped(reason))"]
        case .knownFailure(let reason, _):
            return ["not ok \(name) # TODO \(Self.escaped(reason))"]
        case .failed(let failure):
            let lists = [
                ("differences", failure.differences.map { "\($0.what): expected \($0.expected), seen \($0.seen)" }),
                ("screen", failure.screen), ("trace", failure.trace), ("log", failure.log),
            ]
            let words = [
                ("file", result.path), ("line", "\(failure.line)"), ("step", failure.step),
                ("message", failure.message),
            ]
            return ["not ok \(name)"] + Self.block(lists, words)
        }
    }

    /// Returns a YAML diagnostic block, indented by two spaces.
    private static func block(_ lists: [(String, [String])], _ words: [(String, String)]) -> [String] {
        var lines = ["  ---"]
        for (name, word) in words { lines.append("  \(name): \(Self.quoted(word))") }
        for (name, list) in lists where !list.isEmpty {
            lines.append("  \(name):")
            lines += list.map { "    - \(Self.quoted($0))" }
        }
        return lines + ["  ..."]
    }

    /// Escapes a description so that it cannot be taken for a directive.
    private static func escaped(_ text: String) -> String {
        text.map { $0 == "#" || $0 == "\\" ? "\\\($0)" : $0.isNewline ? " " : "\($0)" }.joined()
    }

    /// Returns the text as a double-quoted YAML scalar, which has the same syntax as a JSON string.
    private static func quoted(_ text: String) -> String { JSONText.quoted(text) }
}
