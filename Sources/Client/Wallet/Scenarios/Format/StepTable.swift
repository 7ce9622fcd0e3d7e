internal import DeviceInterface
internal import WalletFlows

/// The steps of a scenario: what a person, a phone, an operator or the world does, and what is expected then.
enum StepTable {
    static let all: [Shape.Field] = Self.app + Self.shortcuts + Self.world + Self.operators + Self.expectations

    /// The step that the checker itself resolves.
    static let forEach = "for each"

    private static let app: [Shape.Field] = [
        .init("launch", Self.optionalLink, "Starts a process of the app, with a link if one is named."),
        .init("resume", Self.optionalLink, "Brings the app back from the background."),
        .init(
            "background",
            .either([.nothing, .duration]),
            "Sends the app out of sight; with a duration, the clock goes on by it."
        ),
        .init(
            "kill app",
            .either([.nothing, .fields(Self.kill)]),
            "Ends the app's process; `at_write` has it end in the middle of the next step."
        ),
        .init("tap", .list(Self.action), "Selects an action of the screen; several, one after the other."),
        .init("enter", .list(Self.pin), "Enters a PIN where the screen asks for one."),
        .init("biometric", .list(Self.presentation), "Holds something to the phone while the system's prompt is open."),
        .init("link", Self.link, "A link is followed on the phone."),
        .init(
            "host session",
            .name(what: "session", HostSession.allCases.map(\.rawValue) + ["none"]),
            "What the host application is in the middle of."
        ),
    ]

    private static let shortcuts: [Shape.Field] = [
        .init("set up", .fields(Self.setUp), "From the introduction to a wallet that is set up and unlocked."),
        .init(
            "unlock",
            Self.pin,
            "Opens the app where it is not in sight, and gives what it asks for: this PIN, the owner's finger, or both."
        ),
    ]

    private static let world: [Shape.Field] = [
        .init("advance", .duration, "The lab's clock goes on; the app in sight notices."),
        .init("device", .profile, "Changes what the phone is."),
        .init(
            "enter passcode",
            .nothing,
            "The phone itself is unlocked with its passcode, which also frees its sensor."
        ),
        .init(
            "restore to another device",
            .either([.nothing, .profile]),
            "The app's data on a new phone, whose keychain and hardware are empty."
        ),
        .init(
            "phone",
            .either([.text(form: "a name"), .fields(Self.phone)]),
            "Goes on with another phone, which is new where the name is; the first one is `first`."
        ),
        .init("stop server", .nothing, "The server ends in an orderly way."),
        .init("kill server", .nothing, "The server's process ends at once."),
        .init("start server", .nothing, "The server is started again."),
        .init(
            "keep",
            .map(keys: "names", .text(form: "a value of the screen")),
            "Names a value of the screen, for `${NAME}` in later steps."
        ),
        .init(Self.forEach, .fields(Self.repetition), "The same steps for each value."),
    ]

    private static let operators: [Shape.Field] = [
        .init(
            "revoke wallet",
            .either([.nothing, .text(form: "a phone's name")]),
            "An operator revokes this phone's wallet."
        ),
        .init("revoke recovery code", ScenarioTable.recoveryCode, "An operator puts a recovery code on the deny list."),
        .init(
            "remove from deny list",
            ScenarioTable.recoveryCode,
            "An operator takes a recovery code off the deny list."
        ),
        .init("revoke solution", .nothing, "An operator revokes the whole solution."),
        .init("restore solution", .nothing, "An operator restores the solution."),
        .init(
            "safe biometric unlock",
            .either([
                Self.rollout,
                .fields([
                    .init(
                        "phones",
                        .list(.text(form: "a phone's name")),
                        "For the wallets of these phones.",
                        required: true
                    )
                ]),
            ]),
            "An operator sets the flag: off, on, a percentage, or some phones' wallets."
        ),
        .init(
            "update policy",
            .either([.name(what: "word", ["cleared"]), .list(.fields(Self.updateRule))]),
            "An operator sets the rules of the update policy, for both platforms."
        ),
        .init(
            "revoke with code",
            .text(form: "a deletion code"),
            "The deletion portal is given this code: `${NAME}` of `keep`."
        ),
    ]

    private static let expectations: [Shape.Field] = [
        .init("expect", .fields(ExpectationTable.screen), "What the screen is now."),
        .init(
            "trace",
            .either([
                .list(Self.step),
                .fields([
                    .init(
                        "contains",
                        .list(Self.step),
                        "These steps, in this order, with others between them.",
                        required: true
                    )
                ]),
            ]),
            "The steps of the flows since the last `trace`."
        ),
        .init("server", .fields(ExpectationTable.server), "What the server has on file of this phone's wallet."),
        .init(
            "event",
            .either([.name(what: "event", ExpectationTable.events), .fields(ExpectationTable.event)]),
            "What the host of the app was told since the last `event`."
        ),
    ]

    static let action = Shape.name(what: "action", ActionID.allCases.map(\.rawValue).sorted())
    static let pin = Shape.text(form: "a PIN in quotes")
    static let presentation = Shape.name(what: "presentation", Presentation.allCases.map(\.rawValue))
    static let step = Shape.name(what: "step", StepID.all.map(\.description))

    private static let link = Shape.either([
        .text(form: "an address"),
        .fields([
            .init("url", .text(form: "an address"), "The link.", required: true),
            .init("from", .name(what: "source", IncomingLink.Source.allCases.map(\.rawValue)), "Who handed it over."),
        ]),
    ])

    private static let optionalLink = Shape.either([.nothing, Self.link])

    private static let kill: [Shape.Field] = [
        .init(
            "at_write",
            .number(1...1000),
            "The app dies right before this write to its storage or keychain, counted from now.",
            required: true
        )
    ]

    private static let setUp: [Shape.Field] = [
        .init("pin", Self.pin, "The PIN that is chosen.", required: true),
        .init(
            "biometrics",
            .name(what: "choice", ["enable", "skip"]),
            "What is selected where the phone offers biometrics; `skip` where it is left out."
        ),
        .init("pid", .truth, "Whether the identity is obtained too, up to the dashboard."),
        .init("keep_code", .text(form: "a name"), "Names the deletion code, for `${NAME}` in later steps."),
    ]

    private static let phone: [Shape.Field] = [
        .init("name", .text(form: "a name"), "The phone's.", required: true),
        .init("device", .profile, "What it is, where it is new."),
    ]

    private static let repetition: [Shape.Field] = [
        .init("name", .text(form: "a name"), "What the value is called: `${NAME}`.", required: true),
        .init("in", .list(.text(form: "a value")), "The values.", required: true),
        .init("do", .steps, "The steps.", required: true),
    ]

    private static let rollout = Shape.matching(
        form: "on, off or a percentage as 25%",
        pattern: "^(on|off|[0-9]{1,3}%)$"
    ) { text in
        if text == "on" || text == "off" { return true }
        guard text.hasSuffix("%"), let number = Int(text.dropLast()) else { return false }
        return (0...100).contains(number)
    }

    private static let updateRule: [Shape.Field] = [
        .init(
            "say",
            .name(what: "word", ["ok", "notify", "recommend", "warn", "block"]),
            "What is said to the versions.",
            required: true
        ),
        .init("from", ServerTable.version, "The lowest version that it is said to."),
        .init("below", ServerTable.version, "The lowest version that it is not said to any more."),
        .init("in", .duration, "With `warn`: the time until the versions are blocked."),
        .init(
            "update_available",
            .truth,
            "With `block`: whether the store has a newer version; true where it is left out."
        ),
    ]
}
