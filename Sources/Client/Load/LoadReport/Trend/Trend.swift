/// The changes in metrics over many runs.
///
/// Only runs with the same plan are comparable, so each plan has its own series.
package struct Trend: Sendable {
    /// A result and the file that contains it.
    package struct Run: Sendable {
        package let name: String
        package let result: RunResult

        package init(name: String, result: RunResult) {
            self.name = name
            self.result = result
        }
    }

    /// The runs of one plan, earliest first.
    struct Series: Sendable {
        let runs: [Run]
        /// The metrics of the newest run that differ from the previous run by more than the noise.
        let changes: [Comparison.Row]

        init(_ runs: [Run]) {
            self.runs = runs
            let newest = runs.suffix(2)
            self.changes =
                newest.count < 2
                ? []
                : Comparison(newest[newest.startIndex].result, newest[newest.endIndex - 1].result).rows.filter {
                    $0.finding == .better || $0.finding == .worse
                }
        }

        /// The plan on a single line.
        var title: String {
            self.runs[0].result.setting.plan.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
        }
    }

    /// The series, starting with the one that contains the newest run.
    let series: [Series]

    package init(of runs: [Run]) {
        let groups = Dictionary(grouping: runs) { run in
            run.result.setting.plan.map { "\($0.name)=\($0.value)" }.joined(separator: "\n")
        }
        self.series = groups.values
            .map { group in
                Series(group.sorted { ($0.started, $0.name) < ($1.started, $1.name) })
            }
            .sorted { left, right in
                let (old, new) = (left.runs[left.runs.count - 1], right.runs[right.runs.count - 1])
                return (new.started, new.name) < (old.started, old.name)
            }
    }

    /// Whether the newest run of any plan failed, or is worse than the previous one by more than the noise.
    package var hasRegression: Bool {
        self.series.contains { series in
            series.changes.contains { $0.finding == .worse } || !series.runs[series.runs.count - 1].result.isSuccess
        }
    }

    /// The tables as terminal text.
    package var text: String {
        self.series.map { series in series.part.lines.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }
}

extension Trend.Run {
    /// The start time in ms since 1970.
    fileprivate var started: Int64 { self.result.setting.startMilliseconds }
}

extension Trend.Series {
    /// The runs as a table, with the changes in the newest one.
    var part: ReportPart {
        var table = ReportTable(
            "Runs",
            columns: ["run", "started", "rate", "p50", "p99", "errors", "server CPU", "server", "result", "file"],
            isLeft: true
        )
        for (place, run) in self.runs.enumerated() {
            let totals = run.result.totals
            let all = totals.figures()
            let errors = all.count > 0 ? NumberText.percent(Double(all.failures) / Double(all.count)) : "–"
            table.add(
                "\(place + 1)",
                [
                    run.result.startText, totals.rate.map(NumberText.rate) ?? "–",
                    NumberText.time(all.latency.percentile(50)), NumberText.time(all.latency.percentile(99)), errors,
                    totals.serverCPUMicrosecondsPerOperation.map { NumberText.time(microseconds: $0) } ?? "–",
                    run.result.setting.serverBuild ?? "unknown",
                    run.result.isSuccess ? "passed" : run.result.failures.joined(separator: ", "), run.name,
                ]
            )
        }
        let changes = self.changes.map { row in
            "\(row.name): \(row.finding.rawValue), \(row.ratio.map { NumberText.fixed($0, 2) } ?? "–") times run "
                + "\(self.runs.count - 1)"
        }
        let summary =
            self.runs.count < 2
            ? "One run; the next one with this plan shows a trend."
            : changes.isEmpty ? "Run \(self.runs.count) differs from run \(self.runs.count - 1) only by noise." : ""
        let newest = self.runs[self.runs.count - 1].result
        let isWorse = self.changes.contains { $0.finding == .worse }
        return ReportPart(
            heading: self.title,
            verdict: newest.isSuccess && !isWorse ? "passed" : "failed",
            sentences: summary.isEmpty ? [] : [summary],
            items: changes,
            tables: [table]
        )
    }
}
