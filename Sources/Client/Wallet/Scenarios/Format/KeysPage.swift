internal import SimulatedPhone

/// The reference of keys in docs/testing-guide.md.
package enum ScenarioKeys {
    /// Tables in Markdown: the file's keys, the steps, and what can be expected.
    package static var markdown: String {
        let tables: [(String, [Shape.Field])] = [
            ("The file", ScenarioTable.root), ("`server`", ServerTable.settings), ("`wallet`", ScenarioTable.wallet),
            ("Steps", StepTable.all), ("`expect`", ExpectationTable.screen),
            ("`server` as a step", ExpectationTable.server),
        ]
        return tables.map { title, fields in
            let rows = fields.map { "| `\($0.name)` | \(Self.words($0)) | \($0.text) |" }
            return (["#### \(title)", "", "| key | takes | what it does |", "| --- | --- | --- |"] + rows)
                .joined(separator: "\n")
        }.joined(separator: "\n\n") + "\n"
    }

    private static func words(_ field: Shape.Field) -> String {
        (field.isRequired ? "**needed**; " : "") + field.shape.words.map { $0 == "|" ? "\\|" : "\($0)" }.joined()
    }
}

extension Shape {
    /// The keys of a device profile, from who reads them.
    static var profileKeys: [(name: String, allowed: String, text: String)] { DeviceProfile.keys }
}
