/// A run in a terminal: what came of it first, then what it was.
struct TextSummary {
    private let result: RunResult
    private var totals: Totals { self.result.totals }

    init(_ result: RunResult) {
        self.result = result
    }

    /// Lines of at most 100 characters where the plan's own texts are not longer; the last line ended.
    var text: String {
        let blocks =
            [
                self.head, self.times, self.outcomes, self.counts, self.thresholds, self.violations,
            ] + self.result.sections.map(Self.section) + [self.notes, self.setting]
        return blocks.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    private var head: [String] {
        let failures = self.result.failures
        let verdict = failures.isEmpty ? "passed" : "FAILED: " + failures.joined(separator: ", ")
        let measured = "\(Figure.fixed(self.totals.duration.inSeconds, 1)) s measured"
        let warmup = self.result.warmup.map { " after \(Figure.fixed($0.inSeconds, 1)) s of warm-up" } ?? ""
        let all = self.totals.figures()
        return [
            "\(self.result.end.text) · \(measured)\(warmup) · \(self.result.setting.target)",
            verdict, "",
            "  \(self.totals.rate.map(Figure.rate) ?? "no time passed"): \(Figure.count(all.answered)) verdicts of "
                + "\(Figure.count(all.count)) operations",
        ]
    }

    private var times: [String] {
        let columns = ["count", "rate"] + Distribution.columns
        var latency = TextTable(columns: [self.result.latencyOrigin] + columns)
        var service = TextTable(columns: ["from sending"] + columns)
        for (operation, figures) in self.totals.sortedOperations {
            let rate = self.totals.rate(of: operation).map(Figure.rate) ?? "–"
            let head = [operation.rawValue, Figure.count(figures.count), rate]
            latency.add(head + Distribution.values(figures.latency))
            service.add(head + Distribution.values(figures.serviceTime))
        }
        guard !self.totals.operations.isEmpty else { return [] }
        return latency.lines + (self.result.hasDueTimes ? [""] + service.lines : [])
    }

    private var outcomes: [String] {
        let operations = self.totals.sortedOperations
        guard !operations.isEmpty else { return [] }
        var table = TextTable(columns: ["outcome"] + operations.map(\.operation.rawValue))
        for outcome in self.totals.sortedOutcomes {
            table.add(
                [outcome.rawValue]
                    + operations.map { _, figures in
                        let count = figures.outcomes[outcome] ?? 0
                        return count == 0
                            ? "" : "\(Figure.count(count)) \(Figure.percent(Double(count) / Double(figures.count)))"
                    }
            )
        }
        return table.lines
    }

    private var counts: [String] {
        let all = self.totals.figures()
        var lines = [
            "  unexpected answers \(Figure.count(all.unexpected)) · impossible answers "
                + "\(Figure.count(self.totals.violations.count)) · due and not sent \(Figure.count(self.totals.unsent)) · "
                + "connections \(Figure.count(self.totals.peakConnections))"
        ]
        if let text = self.totals.serverText { lines.append("  server: \(text)") }
        if let text = self.totals.toolText { lines.append("  tool: \(text)") }
        return lines
    }

    private var thresholds: [String] {
        guard !self.result.thresholds.isEmpty else { return [] }
        var table = TextTable(columns: ["threshold", "seen", ""], leftColumns: 3)
        for threshold in self.result.thresholds {
            table.add([threshold.text, threshold.value, threshold.verdict.text])
        }
        return table.lines
    }

    private var violations: [String] {
        let violations = self.totals.violations
        guard violations.count > 0 else { return [] }
        let more = violations.count - violations.examples.count
        return ["  impossible answers"] + violations.examples.map { "    \($0)" }
            + (more > 0 ? ["    and \(Figure.count(more)) more"] : [])
    }

    private static func section(_ section: ReportSection) -> [String] {
        var table = TextTable(columns: section.columns)
        for row in section.rows { table.add(row) }
        let title = "  " + section.title + (section.verdict.text.map { ": \($0)" } ?? "")
        return [title] + (section.summary.isEmpty ? [] : ["  " + section.summary]) + table.lines.map { "  " + $0 }
    }

    private var notes: [String] {
        self.result.remarks.isEmpty ? [] : ["  notes"] + self.result.remarks.map { "    \($0)" }
    }

    private var setting: [String] {
        var table = TextTable(columns: [], leftColumns: 2)
        for (name, value) in self.result.setting.rows { table.add([name, value]) }
        return table.lines
    }
}

extension RunSetting {
    /// Everything that makes a run what it is, as people read it and as two runs are held against each other.
    var rows: [(name: String, value: String)] {
        let libraries = self.libraries.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
        return self.plan.map { (name: $0.name, value: $0.value) } + [
            ("seed", "\(self.seed)"), ("command", self.commandText), ("target", self.target),
            ("server", self.serverBuild ?? "unknown"), ("tool", self.toolBuild),
        ] + libraries + [
            ("processor", self.machine.cpuModel), ("cores", "\(self.machine.cores)"),
            ("memory", Figure.bytes(Double(self.machine.memoryBytes))), ("kernel", self.machine.kernel),
        ]
    }

    /// The command line as a shell would take it again.
    var commandText: String {
        self.command.map { word in
            let isPlain = !word.isEmpty && word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,@%+".contains($0) }
            return isPlain ? word : "'" + word.map { $0 == "'" ? "'\\''" : String($0) }.joined() + "'"
        }.joined(separator: " ")
    }
}
