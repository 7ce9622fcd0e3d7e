/// The forms in which a run is told.
package enum ReportFormat: String, Sendable, CaseIterable {
    /// For people, in a terminal.
    case text
    /// Everything that was measured; what `report` and `compare` read.
    case json
    /// One row for each interval.
    case csv
    /// Percentiles in wrk2's layout.
    case hgrm
    /// HdrHistogram's interval log.
    case hlog
    /// One page with plots, for a browser.
    case html
}

extension RunResult {
    /// The report's text, its last line ended.
    ///
    /// - Parameter operation: Of which kind of operation the percentile table is; every other form has all kinds.
    package func text(as format: ReportFormat, of operation: Operation? = nil) -> String {
        switch format {
        case .text: TextSummary(self).text
        case .json: self.jsonText
        case .csv: IntervalTable.text(self)
        case .hgrm: PercentileTable.text(self.totals.figures(of: operation).latency)
        case .hlog: IntervalLog(self).text
        case .html: ReportPage(self).text
        }
    }
}
