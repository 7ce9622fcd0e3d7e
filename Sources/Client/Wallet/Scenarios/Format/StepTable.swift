internal import ConfigText
internal import WalletFlows
internal import Vocabulary

/// The steps of a scenario: expectations, and actions by the user, the phone, the operator and the network.
enum StepTable {
    static let all = Self.entries.map(\.field)

    private static let entries = Self.app + Self.shortcuts + Self.world + Self.operators + Self.expectations

    /// Returns the action of a step, or nil if the step is unknown or its value has the wrong shape.
    static func action(_ name: String, _ value: ConfigValue) -> Step.Action? {
        Self.entries.first { $0.field.name == name }?.action(value)
    }

    /// A single step, either just its name or a name with a value.
    static let anyStep = Shape.named("step") { .entry(name: "step", Self.all) }

    static let action = Shape.named("action") { .name("action", ActionID.allCases.map(\.rawValue).sorted()) }
    static let pin = Shape.text("a PIN in quotes")
    static let presentation = Shape.name("presentation", Presentation.allCases.map(\.rawValue))
    static let screen = Shape.named("screen") { .fields(ExpectationTable.screen, rule: ExpectationTable.valueNames) }
    static let record = Shape.named("record") { .fields(ExpectationTable.server) }
    static let step = Shape.named("flowStep") { .name("step", StepID.all.map(\.description)) }

    private static let app: [StepEntry] = [
        StepEntry("launch", Self.optionalLink, "Starts a process of the app, with a link if one is given.") {
            .launch(LinkText($0))
        },
        StepEntry("resume", Self.optionalLink, "Brings the app back from the background.") { .resume(LinkText($0)) },
        StepEntry(
            "background",
            .either([.nothing, .duration]),
            "Moves the app to the background; with a duration, also advances the clock."
        ) { .background($0.duration) },
        StepEntry(
            "kill app",
            .either([.nothing, .fields(Self.kill)]),
            "Kills the app's process; with `at_write`, in the middle of the next step."
        ) { .killApp(atWrite: $0["at_write"]?.number) },
        StepEntry("tap", .list(Self.action), "Selects one or more actions, one after the other.") {
            .tap(($0.texts ?? []).compactMap(ActionID.init))
        },
        StepEntry("enter", .list(Self.pin), "Enters a PIN; the screen must ask for one.") { .enter($0.texts ?? []) },
        StepEntry("biometric", .list(Self.presentation), "Answers the operating system's prompt.") {
            .present(($0.texts ?? []).compactMap(Presentation.init))
        },
        StepEntry("link", Self.link, "Follows a link on the phone.") { LinkText($0).map(Step.Action.link) },
        StepEntry(
            "refused",
            .entry(name: "action", Self.refusable),
            "An action that the app must refuse: the screen does not offer it or ask for it, or no app is in front."
        ) { Step.Action.refusal($0) },
        StepEntry(
            "host session",
            .name("session", HostSession.allCases.map(\.rawValue) + ["none"]),
            "Sets the session that the host application is in."
        ) { .hostSession($0.text.flatMap(HostSession.init)) },
        StepEntry("confirm", Self.confirmation, "The host application asks the user to confirm an action.") {
            Step.Action.confirmation($0)
        },
    ]

    private static let refusable: [Field] = [
        Field("tap", Self.action, "An action that is not offered."),
        Field("enter", Self.pin, "A PIN that is not asked for."),
        Field("biometric", Self.presentation, "An answer without a prompt."),
        Field("confirm", Self.confirmation, "A confirmation that the app cannot ask for."),
    ]

    private static let shortcuts: [StepEntry] = [
        StepEntry("set up", .fields(Self.setUp), "Sets up a wallet, from the introduction until it is unlocked.") {
            .setUp(SetUp($0))
        },
        StepEntry(
            "unlock",
            Self.pin,
            "Brings the app to the foreground if necessary, and answers its requests for this PIN and for biometrics."
        ) { $0.text.map(Step.Action.unlock) },
        StepEntry(
            IncludedSteps.name,
            .either([ScenarioTable.relativeFile, .fields(IncludedSteps.fields)]),
            "Executes the steps of another file, whose path starts at the folder of this one."
        ) { _ in nil },
        StepEntry(
            ForEach.name,
            .fields(Self.repetition),
            "Repeats steps for each value of a list, or for each row of a table."
        ) { _ in nil },
    ]

    private static let world: [StepEntry] = [
        StepEntry("advance", .duration, "Advances the lab's clock; an app in the foreground is refreshed.") {
            $0.duration.map(Step.Action.advance)
        },
        StepEntry("device", ScenarioTable.device, "Changes the phone.") { .device(DeviceChange($0)) },
        StepEntry(
            "wallet",
            ScenarioTable.wallet,
            "Changes the configuration of the app, from its next process on."
        ) { .configure(AppConfiguration(value: $0)) },
        StepEntry(
            "set clock back",
            .duration,
            "Sets the phone's clock back by this time; the server's clock does not change."
        ) { value in value.duration.map { .setClock(.zero - $0) } },
        StepEntry("set clock forward", .duration, "The same, forward.") { $0.duration.map(Step.Action.setClock) },
        StepEntry(
            "enroll",
            .name("biometric", [BiometricSupport.face, .fingerprint].map(\.rawValue)),
            "The owner enters the passcode and enrolls a face or a finger, beside those that are enrolled."
        ) { $0.text.flatMap(BiometricSupport.init).map(Step.Action.enroll) },
        StepEntry(
            "remove screen lock",
            .nothing,
            "The owner removes the passcode; the phone loses the items of its keychain, and the hardware key stays."
        ) { _ in .removeScreenLock },
        StepEntry(
            "wipe keychain",
            .nothing,
            "Removes all items of the phone's keychain; the hardware key stays."
        ) { _ in .wipeKeychain },
        StepEntry(
            "storage",
            .name("state", ["full", "free"]),
            "Leaves the app no space: each write of its files fails until `free`. The keychain has its own space."
        ) { .storage(isFull: $0.text == "full") },
        StepEntry(
            "enter passcode",
            .nothing,
            "Unlocks the phone with its passcode, which also unlocks its sensor."
        ) { _ in .enterPasscode },
        StepEntry(
            "restore to another device",
            .either([.nothing, ScenarioTable.device]),
            "Restores the app's data to a new phone with an empty keychain and empty hardware."
        ) { .restore(DeviceChange($0)) },
        StepEntry(
            "phone",
            .either([ScenarioTable.folderName, .fields(Self.phone)]),
            "Switches to another phone; creates it if the name is new. The initial phone is `first`."
        ) { .phone($0.text ?? $0["name"]?.text ?? "", DeviceChange($0["device"])) },
        StepEntry(
            "clone phone",
            ScenarioTable.folderName,
            "Copies the whole phone, with its secrets, to a new one of this name; `phone` switches to it."
        ) { $0.text.map(Step.Action.clone) },
        StepEntry(
            "back up app",
            ScenarioTable.folderName,
            "Keeps a copy of the app's data under this name, without hardware key and keychain."
        ) { $0.text.map(Step.Action.backUp) },
        StepEntry(
            "restore backup",
            ScenarioTable.folderName,
            "Ends the app and replaces its data with the copy of this name, on the same phone."
        ) { $0.text.map(Step.Action.restoreBackup) },
        StepEntry("stop server", .nothing, "Shuts the server down.") { _ in .stopServer },
        StepEntry("kill server", .nothing, "Kills the server's process.") { _ in .killServer },
        StepEntry(
            "start server",
            .either([.nothing, .fields(ServerTable.settings)]),
            "Starts the server again, from now on with these settings if any are stated."
        ) { .startServer(($0.fields ?? [:]).mapValues(\.flowText)) },
        StepEntry(
            "start second server",
            .nothing,
            "Starts another server on the same store, which must refuse to start while the first one uses it."
        ) { _ in .startSecondServer },
        StepEntry(
            "freeze server",
            .nothing,
            "Halts the server's process: no call is answered, and the wallet's time limits pass on the lab's clock."
        ) { _ in .freezeServer },
        StepEntry(
            "thaw server",
            .nothing,
            "Continues the server's process, which then executes the calls that it received."
        ) { _ in .thawServer },
        StepEntry(
            "exchange certificate",
            .name("certificate", ExchangedCertificate.allCases.map(\.rawValue)),
            "Gives the server a new certificate and key: `renewed`, or one that wallets must not accept."
        ) { $0.text.flatMap(ExchangedCertificate.init).map(Step.Action.exchangeCertificate) },
        StepEntry(
            "keep",
            .map(keys: "names", .name("value of a screen", ScreenValues.all)),
            "Gives a value of the screen a name, for `${NAME}` in later steps."
        ) { .keep(($0.fields ?? [:]).compactMapValues(\.text)) },
    ]

    private static let operators: [StepEntry] = [
        StepEntry(
            "revoke wallet",
            .either([.nothing, .text("a phone's name")]),
            "An operator revokes this phone's wallet."
        ) { .operate(.revokeWallet(phone: $0.text)) },
        StepEntry(
            "revoke recovery code",
            ScenarioTable.recoveryCode,
            "An operator adds a recovery code to the deny list."
        ) { value in value.text.map { .operate(.revokeRecoveryCode($0)) } },
        StepEntry(
            "remove from deny list",
            ScenarioTable.recoveryCode,
            "An operator removes a recovery code from the deny list."
        ) { value in value.text.map { .operate(.removeFromDenyList($0)) } },
        StepEntry("revoke solution", .nothing, "An operator revokes the whole solution.") { _ in
            .operate(.revokeSolution)
        },
        StepEntry("restore solution", .nothing, "An operator restores the solution.") { _ in
            .operate(.restoreSolution)
        },
        StepEntry(
            "refresh shares",
            .nothing,
            "An operator replaces the shares of all wallets. Each receives its own at its next unlock with a PIN."
        ) { _ in .operate(.refreshShares) },
        StepEntry(
            "safe biometric unlock",
            .either([
                Self.rollout,
                .fields([
                    Field("phones", .list(.text("a phone's name")), "For the wallets of these phones.", required: true)
                ]),
            ]),
            "An operator sets the flag: off, on, for a percentage of wallets, or for the wallets of some phones."
        ) { .operate(.safeBiometricUnlock($0)) },
        StepEntry(
            "update policy",
            .either([.name("word", ["cleared"]), .list(.fields(Self.updateRule, rule: Self.versionRange))]),
            "An operator sets the rules of the update policy, for both platforms."
        ) { .operate(.updatePolicy($0.list ?? [])) },
        StepEntry(
            "revoke with code",
            .text("a deletion code"),
            "A user enters this code in the deletion portal: `${NAME}` of `keep`."
        ) { $0.text.map(Step.Action.revokeWithCode) },
    ]

    private static let expectations: [StepEntry] =
        Self.comparisons + [
            StepEntry(
                "expect screen",
                ScenarioTable.fileBelow,
                "Compares the whole screen, in every language at 40x12 and 80x24, with the file that `--update` writes."
            ) { $0.text.map(Step.Action.expectScreenOf) },
            StepEntry(
                "expect all",
                .list(.entry(name: "expectation", Self.comparisons.map(\.field))),
                "Compares all of these expectations, and reports every difference."
            ) { .expectAll(($0.list ?? []).compactMap(Step.Action.init)) },
        ]

    private static let comparisons: [StepEntry] = [
        StepEntry("expect", Self.screen, "Compares the current screen.") { .expectScreen($0) },
        StepEntry(
            "expect one of",
            .list(Self.screen),
            "Compares the current screen with several expectations; one of them must be met."
        ) { .expectOneOf($0.list ?? []) },
        StepEntry(
            "trace",
            .either([
                .list(Self.step),
                .fields([
                    Field(
                        "contains",
                        .list(Self.step),
                        "These steps in this order; others may occur between them.",
                        required: true
                    )
                ]),
            ]),
            "Compares the steps of the flows since the previous `trace`."
        ) { .expectTrace(TraceExpectation($0)) },
        StepEntry("server", Self.record, "Compares the server's record of this phone's wallet.") { .expectServer($0) },
        StepEntry(
            "event",
            .either([.name("event", ExpectationTable.events), .fields(ExpectationTable.event)]),
            "Compares the next event that the app's host received since that of the previous `event`; `none`: no other."
        ) { .expectEvent($0) },
    ]

    private static let confirmation = Shape.fields([
        Field("title", .text("a text"), "The action.", required: true),
        Field("details", .text("a text"), "Its details; none by default."),
    ])

    private static let link = Shape.either([
        .text("an address"),
        .fields([
            Field("url", .text("an address"), "The link.", required: true),
            Field("from", .name("source", IncomingLink.Source.allCases.map(\.rawValue)), "The source of the link."),
        ]),
    ])

    private static let optionalLink = Shape.either([.nothing, Self.link])

    private static let kill: [Field] = [
        Field(
            "at_write",
            .number(1...1000),
            "The app dies right before this write to its storage or keychain, counted from now.",
            required: true
        )
    ]

    private static let setUp: [Field] = [
        Field("pin", Self.pin, "The new PIN.", required: true),
        Field(
            "biometrics",
            .name("choice", ["enable", "skip"]),
            "The answer to the phone's offer of biometrics; `skip` by default."
        ),
        Field("pid", .truth, "Also obtains the identity, up to the dashboard."),
        Field("keep_code", .text("a name"), "Gives the deletion code a name, for `${NAME}` in later steps."),
    ]

    private static let phone: [Field] = [
        Field("name", ScenarioTable.folderName, "The phone's name.", required: true),
        Field("device", ScenarioTable.device, "The properties of a new phone."),
    ]

    private static let repetition: [Field] = [
        Field(
            "name",
            .list(.text("a name")),
            "Name of the value, for `${NAME}` in the steps; or the names of several columns.",
            required: true
        ),
        Field(
            "in",
            .list(.either([.text("a value"), .list(.text("a value"))])),
            "The values; or rows with a value for each name.",
            required: true
        ),
        Field("do", .list(Self.anyStep), "The steps.", required: true),
    ]

    private static let rollout = Shape.matching("on, off or a percentage such as 25%", "^(on|off|[0-9]{1,3}%)$") {
        if $0 == "on" || $0 == "off" { return true }
        guard $0.hasSuffix("%"), let number = Int($0.dropLast()) else { return false }
        return (0...100).contains(number)
    }

    private static let versionRange: FieldRule = { value in
        let (from, below) = (
            value["from"]?.text.flatMap(AppVersion.init), value["below"]?.text.flatMap(AppVersion.init)
        )
        return UpdateRule(from: from, below: below, .ok) == nil ? ("below", "leaves no version in the range") : nil
    }

    private static let updateRule: [Field] = [
        Field(
            "say",
            .name("word", ["ok", "notify", "recommend", "warn", "block"]),
            "The answer to apps of these versions.",
            required: true
        ),
        Field("from", ServerTable.version, "Lowest version of the rule."),
        Field("below", ServerTable.version, "First version above the rule's range."),
        Field("in", .duration, "With `warn`: the time until the versions are blocked."),
        Field("update_available", .truth, "With `block`: whether the store has a newer version; true by default."),
    ]
}

/// A step, and how its value becomes an action.
struct StepEntry: Sendable {
    let field: Field
    /// Returns nil for `include` and `for each`, in whose place other steps stand.
    let action: @Sendable (ConfigValue) -> Step.Action?

    init(_ name: String, _ shape: Shape, _ text: String, _ action: @escaping @Sendable (ConfigValue) -> Step.Action?) {
        self.field = Field(name, shape, text)
        self.action = action
    }
}

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
