/// The formats of a report.
package enum LoadReportFormat: String, Sendable, CaseIterable {
    /// The summary for a terminal.
    case text
    /// All measurements; `report` and `compare` read it.
    case json
    /// One row per interval.
    case csv
    /// One page with plots.
    case html
}

extension RunResult {
    /// The report, with a newline at the end.
    package func text(as format: LoadReportFormat) -> String {
        switch format {
        case .text: self.summaryText
        case .json: self.jsonText
        case .csv: IntervalTable.text(self)
        case .html: LoadReportPage(self).html
        }
    }
}
