/// A format of the report.
package enum ReportFormat: String, Sendable, CaseIterable {
    /// Text for people.
    case text
    /// Test Anything Protocol 14.
    case tap
    /// JUnit's XML, for CI servers.
    case junit
    /// Annotations for GitHub Actions.
    case github
    /// One JSON object.
    case json
}

/// The results of a run, which can be written in each format.
package struct Report: Sendable {
    package let results: [ScenarioResult]
    package let duration: Duration
    /// Nil if coverage was not requested.
    package let coverage: Coverage?

    package init(results: [ScenarioResult], duration: Duration, coverage: Coverage? = nil) {
        self.results = results
        self.duration = duration
        self.coverage = coverage
    }

    func count(_ verdict: ScenarioResult.Verdict) -> Int { self.results.count { $0.verdict == verdict } }

    /// The repeated scenarios of which some repetitions passed and others did not, with both numbers.
    var unsteady: [(path: String, passed: Int, count: Int)] {
        let repeated = self.results.filter { $0.repetition != nil }
        return Dictionary(grouping: repeated, by: \.path).sorted { $0.key < $1.key }.compactMap { path, results in
            let passed = results.count { $0.verdict == .passed }
            let hasOther = results.contains { $0.verdict == .failed || $0.verdict == .flaky }
            return passed > 0 && hasOther ? (path, passed, results.count) : nil
        }
    }

    /// True if no scenario failed and no step is missing in the coverage.
    package var isSuccess: Bool {
        !self.results.contains(where: \.hasFailed) && (self.coverage?.missing.isEmpty ?? true)
    }

    /// The report's text, which ends with a newline.
    package func text(as format: ReportFormat, colored isColored: Bool = false) -> String {
        switch format {
        case .text: TextReport(isColored: isColored).text(self)
        case .tap: TAPReport.text(self)
        case .junit: JUnitReport.text(self)
        case .github: GitHubReport.text(self)
        case .json: JSONReport.text(self)
        }
    }
}

/// The coverage of the flows' steps by a run.
package struct Coverage: Hashable, Sendable {
    /// The steps that no scenario reached, in the list's order.
    package let missing: [String]
    /// The number of steps in the list.
    package let inAll: Int

    /// - Parameter steps: The list's text, one id per line; empty lines and `#` comments are ignored.
    package init(of results: [ScenarioResult], in steps: String) {
        let reached = results.reduce(into: Set<String>()) { $0.formUnion($1.reached) }
        let ids = steps.split(separator: "\n").map(String.init).filter { !$0.isEmpty && !$0.hasPrefix("#") }
        self.inAll = ids.count
        self.missing = ids.filter { !reached.contains($0) }
    }
}
