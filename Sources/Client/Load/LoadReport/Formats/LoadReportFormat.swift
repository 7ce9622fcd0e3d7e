/// The output format of a report.
package enum LoadReportFormat: String, Sendable, CaseIterable {
    /// A summary for a terminal.
    case text
    /// All measurements.
    ///
    /// `report` and `compare` read this format.
    case json
    /// One row per interval.
    case csv
    /// A single page with plots.
    case html
}

extension RunResult {
    /// Returns the report, with a newline at the end.
    package func text(as format: LoadReportFormat) -> String {
        switch format {
        case .text: self.summaryText
        case .json: self.jsonText
        case .csv: IntervalTable.text(self)
        case .html: LoadReportPage(self).html
        }
    }
}
