internal import ConfigText

/// The scenario format as a JSON schema, which lets editors complete and check scenario files.
package enum ScenarioSchema {
    /// The text of the schema, as published in docs/scenario.schema.json.
    package static var text: String {
        SchemaWriter(
            title: "A scenario of the wallet",
            description: "Generated from the table of keys; `wallet run --check` checks the same rules and more.",
            definitions: [
                StepTable.anyStep, ScenarioTable.device, StepTable.action, StepTable.step, StepTable.screen,
                StepTable.record,
            ],
            // Any value can be a placeholder defined by `for each` or `keep`.
            placeholder: "[$][{]"
        ).text(ScenarioTable.root)
    }
}
