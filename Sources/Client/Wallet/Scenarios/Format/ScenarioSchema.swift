internal import ConfigText

/// The format as a JSON schema, with which editors complete and check scenario files.
package enum ScenarioSchema {
    /// The schema's text (docs/scenario.schema.json).
    package static var text: String {
        SchemaWriter(
            title: "A scenario of the wallet",
            description: "Generated from the table of keys; `wallet run --check` checks the same rules and more.",
            definitions: [StepTable.anyStep, ScenarioTable.device, StepTable.action, StepTable.step],
            // The name of a value of `for each` or `keep` may replace any value.
            placeholder: "[$][{]"
        ).text(ScenarioTable.root)
    }
}
