internal import ConfigText
internal import Phone

/// The key reference in docs/testing-guide.md.
package enum ScenarioManual {
    /// Markdown tables for the file's keys, the steps, and the expectations.
    package static var markdown: String {
        let tables: [(String, [Field])] = [
            ("The file", ScenarioTable.root), ("`server`", ServerTable.settings), ("`wallet`", AppSettings.fields),
            ("Steps", StepTable.all), ("`expect`", ExpectationTable.screen),
            ("`server` as a step", ExpectationTable.server),
        ]
        return tables.map { "#### \($0)\n\n\(TextLayout.markdown($1))" }.joined(separator: "\n\n") + "\n"
    }
}
