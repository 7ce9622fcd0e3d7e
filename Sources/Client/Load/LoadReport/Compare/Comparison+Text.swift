extension Comparison {
    /// The comparison as terminal text, with the result of each limit.
    package func text(limits: [ChangeLimit] = []) -> String {
        var lines = self.concerns.map { "CAUTION  \($0)" }
        lines.append(self.differences.isEmpty ? "the settings are the same" : "the settings differ")
        for difference in self.differences {
            lines.append("  \(difference.name)")
            lines.append("    before  \(difference.before ?? "–")")
            lines.append("    after   \(difference.after ?? "–")")
        }
        var table = ReportTable("", columns: ["metric", "before", "after", "ratio", "noise", "finding"])
        for row in self.rows where row.before != nil || row.after != nil {
            table.add(ReportTable.Cell(row.name), row.cells)
        }
        lines += [""] + table.lines.map { "  \($0)" }
        lines += ["", "noise: three standard errors of both runs, from the variation within each run"]
        return (lines + limits.map(self.sentence)).joined(separator: "\n") + "\n"
    }

    private func sentence(_ limit: ChangeLimit) -> String {
        switch limit.isExceeded(in: self) {
        case true?:
            // A change within the noise fails too, because noisy runs prove nothing either way.
            "FAILED  \(limit.text)"
                + (self.row(limit.name, limit.metric).finding == .withinNoise ? "; the change is within the noise" : "")
        case false?: "passed  \(limit.text)"
        case nil: "FAILED  \(limit.text): not measured in one of the runs"
        }
    }
}

extension Comparison.Row {
    fileprivate var cells: [String] {
        [
            self.before.map { self.metric.text($0, asShare: self.isShare) } ?? "–",
            self.after.map { self.metric.text($0, asShare: self.isShare) } ?? "–",
            self.ratio.map { "×\(NumberText.fixed($0, 3))" } ?? "–", self.noiseText, self.finding.rawValue,
        ]
    }

    /// The noise relative to the earlier value.
    private var noiseText: String {
        guard let noise, let before, self.after != nil else { return "–" }
        guard before != 0 else { return noise == 0 ? "none" : "±\(self.metric.text(noise, asShare: self.isShare))" }
        return "±\(NumberText.fixed(noise / before * 100, 1))%"
    }
}
