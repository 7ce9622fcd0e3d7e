internal import Vocabulary
internal import WalletFlows

/// What can be expected: of the screen, of the server, of the host's events.
enum ExpectationTable {
    static let screen: [Shape.Field] = [
        .init("screen", StepTable.step, "The step that shows it."),
        .init("kind", .name(what: "kind", ["screen", "prompt", "os-prompt"]), "What it is drawn as."),
        .init("title", .text(form: "a text"), "Its title, exactly."),
        .init("text", .list(.text(form: "a text")), "Texts that its message or banner contains."),
        .init("actions", .list(StepTable.action), "Actions that it offers, others beside them."),
        .init("no_actions", .list(StepTable.action), "Actions that it does not offer."),
        .init("input", .name(what: "input", ["pin", "biometric", "none"]), "What is asked for."),
        .init(
            "values",
            .map(keys: "names of values", Self.value),
            "Values that it shows."
        ),
        .init("error", .name(what: "error", Self.errors), "The error that it tells of."),
        .init("exit", .number(0...99), "The exit code of a one-shot command that ended here."),
        .init("locked", .truth, "Whether the wallet is locked."),
        .init("running", .truth, "Whether a process of the app runs."),
        .init("in_front", .truth, "Whether the app is in sight."),
        .init("keychain_items", .number(0...9), "Items in the phone's keychain."),
    ]

    static let server: [Shape.Field] = [
        .init(
            "state",
            .name(what: "state", Self.states),
            "Whether a PIN would be judged; `unknown` where there is no such wallet."
        ),
        .init("attempts_left", .number(0...16), "Attempts left in the round."),
        .init("failed_attempts", .number(0...256), "Wrong PINs since the last right one."),
        .init("round", .number(1...16), "The round of the next attempt."),
        .init("final_round", .truth, "Whether it is the last round."),
        .init(
            "revoked",
            .name(what: "reason", Revocation.Reason.allCases.map(\.rawValue) + ["no"]),
            "Who revoked the wallet."
        ),
        .init("solution_revoked", .truth, "Whether the whole solution is revoked."),
        .init("recovery_code", .truth, "Whether a recovery code is linked."),
        .init("deletion_code", .truth, "Whether it has a deletion code."),
        .init("safe_biometric_unlock", .truth, "Whether the flag is on for this wallet."),
    ]

    private static let value = Shape.matching(
        form: "a value, a range as 1..60, or a pattern as /[0-9]+/",
        pattern: "."
    ) { ValuePattern($0).isValid }

    static let states = ["open", "blocked", "blocked-permanently", "unknown"]
    static let errors = ["no-internet", "server-unreachable", "device-insecure", "generic", "none"]
    static let events = [
        "suspended", "closed", "store-opened", "pid-requested", "scan-requested", "link-accepted", "none",
    ]

    static let event: [Shape.Field] = [
        .init("name", .name(what: "event", Self.events), "The event.", required: true),
        .init("kind", .name(what: "kind", LinkKind.allCases.map(\.rawValue)), "The kind of the link."),
        .init("url", .text(form: "an address"), "The link."),
    ]
}
