internal import ConfigText
internal import SimulatedPhone
internal import Vocabulary
internal import WalletFlows

/// The keys of a scenario file.
enum ScenarioTable {
    static let root: [Field] = [
        Field("case", Self.caseID, "The logical test case: `LTC46`, `SB5`, `UC1.1-all-actions`.", required: true),
        Field("title", .text("a sentence"), "The rule or behavior that the scenario shows.", required: true),
        Field("tags", .list(Self.caseID), "Words by which `--tag` selects scenarios."),
        Field(
            "known failure",
            .text("a reason"),
            "The scenario counts as a known failure while it fails, and fails once it passes."
        ),
        Field(
            "time limit",
            Kind<Duration>.duration(.seconds(1) ... .seconds(86_400)).shape,
            "Real time, \(DurationText.write(Self.timeLimit)) by default, after which the scenario fails."
        ),
        Field(
            "server",
            .fields(ServerTable.settings, rule: ServerTable.rule),
            "Settings of its server, by the names of docs/settings.md."
        ),
        Field("device", Self.device, "The first phone, as in a device profile."),
        Field("wallet", Self.wallet, "Configuration of the app."),
        Field("steps", .list(StepTable.anyStep), "The steps in order.", required: true),
    ]

    /// The default time limit.
    ///
    /// The slowest scenario of this repository takes a tenth of it on a busy machine.
    static let timeLimit: Duration = .seconds(300)

    /// The keys of `wallet.yaml` that configure the app.
    static let wallet = Shape.fields(AppSettings.fields, rule: AppSettings.rule)

    /// The keys of a device profile.
    ///
    /// Keys that are left out do not change the phone.
    static let device = Shape.named("profile", allowed: "keys of a device profile (docs/devices.md)") {
        DeviceProfile.shape
    }

    static let caseID = Shape.exactly("letters, digits, dots and dashes", "^[A-Za-z0-9.-]+$") { text in
        !text.isEmpty && text.utf8.allSatisfy { Self.isOfName($0) }
    }

    /// The name of a phone or a backup, which becomes the name of a folder.
    ///
    /// Threat: with a path as its name, a scenario from someone else reads and deletes files outside the run's folder.
    static let folderName = Shape.exactly(
        "a name of letters, digits, `-`, `_` and `.`, not first, at most 64",
        "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$"
    ) { text in
        (1...64).contains(text.utf8.count) && !text.hasPrefix(".")
            && text.utf8.allSatisfy { Self.isOfName($0) || $0 == UInt8(ascii: "_") }
    }

    /// A file to read, whose path starts at the folder of the file that names it.
    static let relativeFile = Shape.exactly("a file with a relative path", "^[^/]") { text in
        !text.isEmpty && !text.hasPrefix("/")
    }

    /// A file to write, which must not replace one outside that folder.
    static let fileBelow = Shape.exactly(
        "a file with a relative path without `..`",
        #"^(?!/|(.*/)?\.\.(/|$))."#
    ) { text in
        !text.isEmpty && !text.hasPrefix("/") && !text.split(separator: "/").contains("..")
    }

    static let recoveryCode = Shape.matching("1 to 128 visible ASCII characters", "^[!-~]{1,128}$") { text in
        RecoveryCode(text.utf8) != nil
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}

/// The server settings that a scenario can change: those in docs/settings.md that affect a wallet.
///
/// Names, values and rules are the same as the server's, which a test verifies, so that a scenario that is well formed
/// also starts its server.
enum ServerTable {
    static let settings: [Field] = [
        Field("pin.rounds", .number(AttemptPolicy.allowedRounds), "Number of rounds of attempts."),
        Field("pin.attempts-per-round", .number(AttemptPolicy.allowedAttempts), "Number of wrong PINs in one round."),
        Field(
            "pin.blocks",
            .list(.duration(AttemptPolicy.allowedBlocks)),
            "Waiting time after each round except the last."
        ),
        Field("features.deletion-code", .truth, "Gives each new wallet a deletion code."),
        Field("session.lifetime", Self.upToADay, "Longest duration of a session."),
        Field("enrollment.token-lifetime", .duration(.seconds(1) ... .seconds(3600)), "Time to finish an enrollment."),
        Field(
            "enrollment.unopened-lifetime",
            .duration(.seconds(60) ... .seconds(30 * 86_400)),
            "Time after which a registration without a session is removed."
        ),
        Field(
            "limits.idle-without-session",
            Self.upToADay,
            "Timeout of an idle connection without a session, in real time."
        ),
        Field("limits.idle-with-session", Self.upToADay, "Timeout of an idle connection with a session, in real time."),
        Field("update.android-minimum", Self.version, "Android apps below this version are blocked."),
        Field("update.android-notify", Self.version, "Android apps below this version are notified of an update."),
        Field("update.ios-minimum", Self.version, "iOS apps below this version are blocked."),
        Field("update.ios-notify", Self.version, "iOS apps below this version are notified of an update."),
        Field("android.security-level", .name("level", ["tee", "strongbox"]), "Where a key must be stored."),
        Field("android.patch-level", Self.patchLevel, "Oldest accepted patch level."),
        Field(
            "ios.environments",
            .list(.name("environment", ["production", "development"])),
            "Accepted App Attest environments."
        ),
    ]

    private static let upToADay = Shape.duration(.seconds(1) ... .seconds(86_400))

    /// The rules for combinations, with the server's defaults for settings that are missing.
    static let rule: FieldRule = { value in
        let rounds = value["pin.rounds"]?.number ?? AttemptPolicy.standard.rounds
        let blocks = value["pin.blocks"]?.list?.count ?? AttemptPolicy.standard.blocks.count
        if blocks > rounds - 1 {
            let key = value["pin.blocks"] == nil ? "pin.rounds" : "pin.blocks"
            return (key, "leaves \(rounds - 1) blocks between the rounds, and `pin.blocks` has \(blocks)")
        }
        if value["ios.environments"]?.list?.isEmpty == true { return ("ios.environments", "must not be empty") }
        let token = value["enrollment.token-lifetime"]?.duration ?? .seconds(300)
        let unopened = value["enrollment.unopened-lifetime"]?.duration ?? .seconds(86_400)
        guard unopened < token else { return nil }
        let key = value["enrollment.unopened-lifetime"] == nil ? "token-lifetime" : "unopened-lifetime"
        return ("enrollment.\(key)", "must not let a registration end before its token (`enrollment.token-lifetime`)")
    }

    static let patchLevel = Shape.matching(
        "YYYY-MM, YYYY-MM-DD or none",
        "^([0-9]{4}-[0-9]{2}(-[0-9]{2})?|none)$"
    ) { text in text == "none" || PatchLevel(text) != nil }

    static let version = Shape.matching("a version, such as 1.4.0", #"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$"#) { text in
        AppVersion(text) != nil
    }
}

extension Shape {
    static func duration(_ range: ClosedRange<Duration>) -> Shape { Kind<Duration>.duration(range).shape }

    /// Returns a shape for text that is checked by `accepts`.
    ///
    /// If the text contains `${NAME}`, it is checked after the name has been replaced.
    static func matching(_ allowed: String, _ pattern: String, _ accepts: @escaping @Sendable (String) -> Bool) -> Shape
    {
        self.exactly(allowed, pattern) { $0.contains("${") || accepts($0) }
    }

    /// Returns a shape for text that is checked by `accepts`, and has no name that a step replaces.
    static func exactly(_ allowed: String, _ pattern: String, _ accepts: @escaping @Sendable (String) -> Bool) -> Shape
    {
        Kind<String>.word(
            "text",
            allowed,
            schema: .pattern(pattern),
            read: { accepts($0) ? $0 : nil },
            write: { $0 }
        ).shape
    }
}

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
