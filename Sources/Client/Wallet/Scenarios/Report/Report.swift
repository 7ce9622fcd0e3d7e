package enum ReportFormat: String, Sendable, CaseIterable {
    case text
    /// JUnit XML for CI servers.
    case junit
    /// GitHub Actions annotations.
    case github
    case json
}

/// The results of a run, which can be rendered in any format.
package struct Report: Sendable {
    package let results: [ScenarioResult]
    package let duration: Duration
    /// The coverage of the flow steps, or nil if it was not requested.
    package let coverage: Coverage?

    package init(results: [ScenarioResult], duration: Duration, coverage: Coverage? = nil) {
        self.results = results
        self.duration = duration
        self.coverage = coverage
    }

    func count(_ verdict: ScenarioResult.Verdict) -> Int { self.results.count { $0.verdict == verdict } }

    /// The repeated scenarios that passed in some repetitions but not in all of them.
    var unsteady: [(path: String, passed: Int, count: Int)] {
        let repeated = self.results.filter { $0.repetition != nil }
        return Dictionary(grouping: repeated, by: \.path).sorted { $0.key < $1.key }.compactMap { path, results in
            let passed = results.count { $0.verdict == .passed }
            let hasOther = results.contains { $0.verdict == .failed || $0.verdict == .flaky }
            return passed > 0 && hasOther ? (path, passed, results.count) : nil
        }
    }

    /// Whether no scenario failed and, if coverage was requested, every step was reached.
    package var isSuccess: Bool {
        !self.results.contains(where: \.hasFailed) && (self.coverage?.missing.isEmpty ?? true)
    }

    /// Renders the report as text that ends with a newline.
    package func text(as format: ReportFormat, colored isColored: Bool = false) -> String {
        switch format {
        case .text: TextReport(isColored: isColored).text(self)
        case .junit: JUnitReport.text(self)
        case .github: GitHubReport.text(self)
        case .json: JSONReport.text(self)
        }
    }
}

/// The number of flow steps that a run has covered.
package struct Coverage: Hashable, Sendable, Encodable {
    /// The steps that no scenario reached, in the order of the list.
    package let missing: [String]
    /// The number of steps in the list.
    package let inAll: Int

    /// - Parameter steps: The list of step ids, one per line. Empty lines and `#` comments are ignored.
    package init(of results: [ScenarioResult], in steps: String) {
        let reached = results.reduce(into: Set<String>()) { $0.formUnion($1.reached) }
        let ids = steps.split(separator: "\n").map(String.init).filter { !$0.isEmpty && !$0.hasPrefix("#") }
        self.inAll = ids.count
        self.missing = ids.filter { !reached.contains($0) }
    }
}
