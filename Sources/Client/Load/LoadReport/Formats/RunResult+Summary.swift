extension RunResult {
    /// The summary for a terminal.
    var summaryText: String {
        let all = self.totals.figures()
        let rate = self.totals.rate.map { NumberText.rate($0) + ": " } ?? ""
        let head = [
            self.headline, self.isSuccess ? "passed" : "FAILED: " + self.failures.joined(separator: ", "), "",
            "\(rate)\(NumberText.count(all.answered)) verdicts of \(NumberText.count(all.count)) operations over "
                + "\(NumberText.count(self.totals.peakConnections)) connections",
            "violations \(NumberText.count(self.totals.violations.count)) · unexpected "
                + "\(NumberText.count(all.unexpected)) · unsent \(NumberText.count(self.totals.unsent))",
        ]
        let blocks = [head] + (self.warnings + self.parts).map(\.lines)
        return blocks.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }
}
