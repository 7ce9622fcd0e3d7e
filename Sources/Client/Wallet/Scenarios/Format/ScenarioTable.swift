internal import WalletFlows

/// The keys of a scenario file.
enum ScenarioTable {
    static let root: [Shape.Field] = [
        .init("case", Self.caseID, "The logical test case: `LTC46`, `SB5`, `UC1.1-all-actions`.", required: true),
        .init("title", .text(form: "a sentence"), "What the scenario shows.", required: true),
        .init("server", .fields(ServerTable.settings), "Settings of its server, by the names of docs/settings.md."),
        .init("device", .profile, "What the phone is, as in a device profile."),
        .init("wallet", .fields(Self.wallet), "How the app is configured."),
        .init("steps", .steps, "What happens, in order.", required: true),
    ]

    static let wallet: [Shape.Field] = [
        .init("language", .name(what: "language", Wording.Language.allCases.map(\.rawValue)), "The texts' language."),
        .init("product", .text(form: "a name"), "What the app is called in its texts."),
        .init("link_base", .text(form: "an address"), "Links below this address are the wallet's own."),
        .init("lock_after_background", .duration, "In the background for this long, it locks."),
        .init("lock_after_inactivity", .duration, "Nothing touched for this long, it locks."),
        .init("lock_warning_after", .duration, "Nothing touched for this long, it warns."),
    ]

    static let caseID = Shape.matching(form: "letters, digits, dots and dashes", pattern: "^[A-Za-z0-9.-]+$") { text in
        !text.isEmpty && text.utf8.allSatisfy { Self.isOfName($0) }
    }

    static let recoveryCode = Shape.matching(form: "a text of 1 to 128 bytes", pattern: "^.{1,128}$") { text in
        (1...128).contains(text.utf8.count)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}

/// The settings of a scenario's server: those of docs/settings.md that change what a wallet sees.
///
/// The names are the server's own, which a test compares; the values go to it as they stand here, and it checks them.
enum ServerTable {
    static let settings: [Shape.Field] = [
        .init("pin.rounds", .number(1...16), "Rounds of attempts."),
        .init("pin.attempts-per-round", .number(1...16), "Wrong PINs in one round."),
        .init("pin.blocks", .list(.duration), "The block after each round but the last."),
        .init("features.deletion-code", .truth, "Gives each new wallet a deletion code."),
        .init("session.lifetime", .duration, "A session ends at the latest after this long."),
        .init("enrollment.token-lifetime", .duration, "An enrollment has to be finished within this time."),
        .init(
            "enrollment.unopened-lifetime",
            .duration,
            "A registration without a session is removed after this long."
        ),
        .init("limits.idle-without-session", .duration, "An idle connection without a session is closed."),
        .init("limits.idle-with-session", .duration, "An idle connection with a session is closed."),
        .init("update.android-minimum", Self.version, "Android apps below this version are blocked."),
        .init("update.android-notify", Self.version, "Android apps below this version are told of an update."),
        .init("update.ios-minimum", Self.version, "iOS apps below this version are blocked."),
        .init("update.ios-notify", Self.version, "iOS apps below this version are told of an update."),
        .init("android.security-level", .name(what: "level", ["tee", "strongbox"]), "Where a key must be kept."),
        .init("android.patch-level", .text(form: "YYYY-MM, YYYY-MM-DD or none"), "The oldest patch level accepted."),
        .init("ios.environments", .list(.name(what: "environment", ["production", "development"])), "App Attest's."),
    ]

    static let version = Shape.matching(form: "a version, as 1.4.0", pattern: #"^[0-9]+(\.[0-9]+){0,3}$"#) { text in
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count <= 4 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isNumber) }
    }
}
