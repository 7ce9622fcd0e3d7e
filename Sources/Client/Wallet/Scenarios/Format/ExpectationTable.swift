internal import ConfigText
internal import Vocabulary
internal import WalletFlows

/// The steps that check the screen, the server, or the events sent to the host.
enum ExpectationTable {
    static let screen: [Field] = [
        Field("screen", StepTable.step, "Step that shows the screen."),
        Field("kind", .name("kind", ["screen", "prompt", "os-prompt"]), "How the screen is displayed."),
        Field("title", .text("a text"), "The exact title."),
        Field("text", .list(.text("a text")), "Texts that the message, the banner or the notice contains."),
        Field("actions", .list(StepTable.action), "Actions that the screen offers; it may offer more."),
        Field("no_actions", .list(StepTable.action), "Actions that the screen does not offer."),
        Field("input", .name("input", ["pin", "biometric", "none"]), "Input that the screen asks for."),
        Field("values", .map(keys: "names of values", Self.value), "Values that the screen shows."),
        Field("error", .name("error", Self.errors), "Error that the screen reports."),
        Field("exit", .number(0...99), "Exit status of a one-shot command that ended at this screen."),
        Field("locked", .truth, "Whether the wallet is locked."),
        Field("running", .truth, "Whether a process of the app is running."),
        Field("in_front", .truth, "Whether the app is in the foreground."),
        Field("keychain_items", .number(0...9), "Number of items in the phone's keychain."),
    ]

    /// A value must be one that the screen can show; without a screen, one that any screen can show.
    static let valueNames: FieldRule = { value in
        let screen = value["screen"]?.text
        let known = screen.map(ScreenValues.names(of:)) ?? ScreenValues.all
        guard let name = value["values"]?.fields?.keys.sorted().first(where: { !known.contains($0) }) else {
            return nil
        }
        let place = screen.map { "the screen \($0) has no value" } ?? "no screen has a value"
        return ("values", "\(place) `\(name)`\(NearestName.hint(for: name, among: known))")
    }

    static let server: [Field] = [
        Field(
            "state",
            .name("state", Self.states),
            "Whether the server would check a PIN; `unknown` if it has no such wallet."
        ),
        Field("attempts_left", .number(0...16), "Attempts left in the round."),
        Field("failed_attempts", .number(0...256), "Wrong PINs since the last right one."),
        Field("round", .number(1...16), "Round of the next attempt."),
        Field("final_round", .truth, "Whether it is the last round."),
        Field(
            "revoked",
            .name("reason", Revocation.Reason.allCases.map(\.rawValue) + ["no"]),
            "Reason of the wallet's revocation, or `no`."
        ),
        Field("solution_revoked", .truth, "Whether the whole solution is revoked."),
        Field("recovery_code", .truth, "Whether a recovery code is linked."),
        Field("deletion_code", .truth, "Whether the wallet has a deletion code."),
        Field("safe_biometric_unlock", .truth, "Whether the flag is on for this wallet."),
    ]

    private static let value = Shape.matching("a value, a range such as 1..60, or a pattern such as /[0-9]+/", ".") {
        ValuePattern($0).isValid
    }

    static let states = ["open", "blocked", "blocked-permanently", "unknown"]
    static let errors = ["no-internet", "server-unreachable", "device-insecure", "generic", "none"]
    static let events = [
        "suspended", "closed", "store-opened", "pid-requested", "scan-requested", "link-accepted", "tampering",
        "confirmed", "declined", "none",
    ]

    private static let eventKinds = LinkKind.allCases.map(\.rawValue) + Tampering.allCases.map(\.rawValue)

    static let event: [Field] = [
        Field("name", .name("event", Self.events), "The event.", required: true),
        Field("kind", .name("kind", Self.eventKinds), "Kind of the link, or the contradiction of the receipts."),
        Field("url", .text("an address"), "The link."),
        Field("title", .text("a text"), "Title of the action that was confirmed or declined."),
        Field("details", .text("a text"), "Details of that action."),
    ]
}
