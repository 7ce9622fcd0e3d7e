/// The forms in which results are written.
package enum ReportFormat: String, Sendable, CaseIterable {
    /// For people.
    case text
    /// Test Anything Protocol 14.
    case tap
    /// XML, as CI servers read it.
    case junit
    /// One JSON object.
    case json
}

/// What a run of scenarios gave, in each of the forms.
package struct Report: Sendable {
    package let results: [ScenarioResult]
    package let duration: Duration
    /// Nil where it was not asked for.
    package let coverage: Coverage?

    package init(results: [ScenarioResult], duration: Duration, coverage: Coverage? = nil) {
        self.results = results
        self.duration = duration
        self.coverage = coverage
    }

    /// Whether everything that could be done here was as expected.
    package var isSuccess: Bool {
        !self.results.contains(where: \.hasFailed) && (self.coverage?.missing.isEmpty ?? true)
    }

    /// The report's text, its last line ended.
    package func text(as format: ReportFormat, colored isColored: Bool = false) -> String {
        switch format {
        case .text: TextReport(isColored: isColored).text(self)
        case .tap: TAPReport.text(self)
        case .junit: JUnitReport.text(self)
        case .json: JSONReport.text(self)
        }
    }
}

/// Which steps of the flows a run reached.
package struct Coverage: Hashable, Sendable {
    /// Those of the list that no scenario reached, in the list's order.
    package let missing: [String]
    /// How many the list holds.
    package let inAll: Int

    /// - Parameter steps: The list's text, one id a line; empty lines and `#` comments do not count.
    package init(of results: [ScenarioResult], in steps: String) {
        let reached = results.reduce(into: Set<String>()) { $0.formUnion($1.reached) }
        let ids = steps.split(separator: "\n").map(String.init).filter { !$0.isEmpty && !$0.hasPrefix("#") }
        self.inAll = ids.count
        self.missing = ids.filter { !reached.contains($0) }
    }
}
