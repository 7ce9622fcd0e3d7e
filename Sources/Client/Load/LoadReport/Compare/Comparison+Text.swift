internal import FoundationEssentials

extension Comparison {
    /// The comparison in a terminal, its last line ended.
    ///
    /// - Parameter limits: What was asked of it.
    package func text(limits: [ChangeLimit] = []) -> String {
        var lines = self.concerns.map { "CAUTION  \($0)" }
        if self.differences.isEmpty {
            lines.append("the settings are the same")
        } else {
            lines.append("the settings differ")
            for difference in self.differences {
                lines.append("  \(difference.name)")
                lines.append("    before  \(difference.before ?? "–")")
                lines.append("    after   \(difference.after ?? "–")")
            }
        }
        var table = TextTable(columns: ["figure", "before", "after", "ratio", "noise", ""])
        for row in self.rows where row.before != nil || row.after != nil { table.add(Self.fields(row)) }
        lines.append("")
        lines += table.lines
        lines.append("")
        lines.append(
            "noise: what chance alone may change, by what each figure moves within the two runs (three standard errors)"
        )
        for limit in limits { lines.append(self.sentence(limit)) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func sentence(_ limit: ChangeLimit) -> String {
        switch limit.isExceeded(in: self) {
        case true?:
            // Said, not excused: noise as large as the change makes the runs bad evidence, not the change good.
            "FAILED  \(limit.text)"
                + (self.row(limit.name, limit.metric).finding == .withinNoise ? "; the change is within the noise" : "")
        case false?: "holds   not \(limit.text)"
        case nil: "FAILED  \(limit.text): a run does not have this figure"
        }
    }

    private static func fields(_ row: Row) -> [String] {
        [
            row.name, row.before.map { row.metric.text($0, asShare: row.isShare) } ?? "–",
            row.after.map { row.metric.text($0, asShare: row.isShare) } ?? "–",
            row.ratio.map { "×\(Figure.fixed($0, 3))" } ?? "–", row.noiseText, row.finding.text,
        ]
    }

    /// The comparison as one JSON object, its last line ended.
    ///
    /// - Parameter limits: What was asked of it.
    package func jsonText(limits: [ChangeLimit] = []) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        let document = Document(
            concerns: self.concerns,
            differences: self.differences,
            figures: self.rows.map(Document.Figure.init),
            limits: limits.map { Document.Limit(text: $0.text, exceeded: $0.isExceeded(in: self)) }
        )
        guard let data = try? encoder.encode(document) else { preconditionFailure("plain values encode") }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private struct Document: Encodable {
        struct Figure: Encodable {
            let name: String
            let unit: String
            let before, after, ratio, noise: Double?
            let finding: Finding

            init(_ row: Row) {
                self.name = row.name
                self.unit = row.isShare ? "share" : row.metric.unit.name
                (self.before, self.after, self.ratio, self.noise) = (row.before, row.after, row.ratio, row.noise)
                self.finding = row.finding
            }
        }

        struct Limit: Encodable {
            let text: String
            /// Absent where a run does not have the figure.
            let exceeded: Bool?
        }

        let v = 1
        let concerns: [String]
        let differences: [Difference]
        let figures: [Figure]
        let limits: [Limit]
    }
}

extension Comparison.Row {
    /// The noise relative to the first run's figure.
    fileprivate var noiseText: String {
        guard let noise, let before, self.after != nil else { return "–" }
        guard before != 0 else { return noise == 0 ? "none" : "±\(self.metric.text(noise, asShare: self.isShare))" }
        return "±\(Figure.fixed(noise / before * 100, 1))%"
    }
}

extension Comparison.Finding {
    fileprivate var text: String {
        switch self {
        case .same: "the same"
        case .withinNoise: "within the noise"
        case .better: "better"
        case .worse: "WORSE"
        case .different: "different"
        case .unknown: "too short to tell"
        case .incomparable: "only in one"
        }
    }
}

extension Metric.Unit {
    /// In the JSON.
    fileprivate var name: String {
        switch self {
        case .time: "microseconds"
        case .count: "count"
        case .perSecond: "per-second"
        case .bytes: "bytes"
        }
    }
}
