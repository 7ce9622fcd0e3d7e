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
        Field("server", .fields(ServerTable.settings), "Settings of its server, by the names of docs/settings.md."),
        Field("device", Self.device, "The first phone, as in a device profile."),
        Field("wallet", .fields(Self.wallet), "Configuration of the app."),
        Field("steps", .list(StepTable.anyStep), "The steps in order.", required: true),
    ]

    static let wallet: [Field] = [
        Field("language", .name("language", Wording.Language.allCases.map(\.rawValue)), "Language of the texts."),
        Field("product", .text("a name"), "Name of the app in its texts."),
        Field("link_base", .text("an address"), "Links below this address belong to the wallet."),
        Field("lock_after_background", .duration, "Time in the background after which the wallet locks."),
        Field("lock_after_inactivity", .duration, "Time without input after which the wallet locks."),
        Field("lock_warning_after", .duration, "Time without input after which the wallet warns."),
        Field(
            "pin_after_enrollment",
            .truth,
            "Fallback mode: the PIN is required once after a biometric was enrolled."
        ),
    ]

    /// The keys of a device profile.
    ///
    /// Keys that are left out do not change the phone.
    static let device = Shape.named("profile", allowed: "keys of a device profile (docs/devices.md)") {
        DeviceProfile.shape
    }

    static let caseID = Shape.matching("letters, digits, dots and dashes", "^[A-Za-z0-9.-]+$") { text in
        !text.isEmpty && text.utf8.allSatisfy { Self.isOfName($0) }
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
/// The names are the same as the server's, which a test verifies. The server also checks the values.
enum ServerTable {
    static let settings: [Field] = [
        Field("pin.rounds", .number(1...16), "Number of rounds of attempts."),
        Field("pin.attempts-per-round", .number(1...16), "Number of wrong PINs in one round."),
        Field("pin.blocks", .list(.duration), "Waiting time after each round except the last."),
        Field("features.deletion-code", .truth, "Gives each new wallet a deletion code."),
        Field("session.lifetime", .duration, "Longest duration of a session."),
        Field("enrollment.token-lifetime", .duration, "Time to finish an enrollment."),
        Field(
            "enrollment.unopened-lifetime",
            .duration,
            "Time after which a registration without a session is removed."
        ),
        Field("limits.idle-without-session", .duration, "Timeout of an idle connection without a session."),
        Field("limits.idle-with-session", .duration, "Timeout of an idle connection with a session."),
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

    static let patchLevel = Shape.matching(
        "YYYY-MM, YYYY-MM-DD or none",
        "^([0-9]{4}-[0-9]{2}(-[0-9]{2})?|none)$"
    ) { text in text == "none" || PatchLevel(text) != nil }

    static let version = Shape.matching("a version, such as 1.4.0", #"^[0-9]+(\.[0-9]+){0,3}$"#) { text in
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count <= 4 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isNumber) }
    }
}

extension Shape {
    /// Returns a shape for text that is checked by `accepts`.
    ///
    /// If the text contains `${NAME}`, it is checked after the name has been replaced.
    static func matching(_ allowed: String, _ pattern: String, _ accepts: @escaping @Sendable (String) -> Bool) -> Shape
    {
        Kind<String>.word(
            "text",
            allowed,
            schema: .pattern(pattern),
            read: { $0.contains("${") || accepts($0) ? $0 : nil },
            write: { $0 }
        ).shape
    }
}
