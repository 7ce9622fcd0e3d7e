internal import PINPolicy
internal import Vocabulary

/// The bounds of an exploration, and the options that set them.
struct Bounds {
    var rounds: UInt8 = 2
    /// Attempts in a round.
    var attempts: UInt8 = 1
    /// The minutes of the block after each round but the last.
    var block: UInt8 = 0
    /// Sessions over all connections.
    var sessions: UInt8 = 2
    /// Instructions, repetitions included.
    var messages: UInt8 = 3
    /// Instructions with a right PIN, changes included.
    var rights: UInt8 = 1
    /// Instructions that change the PIN, with any PIN.
    var changes: UInt8 = 0
    /// Revocations with the deletion code.
    var revocations: UInt8 = 0
    /// Revocations by the operator's command.
    var commands: UInt8 = 0
    /// Two servers on a primary and a standby of PostgreSQL; otherwise one server with SQLite.
    var servers: UInt8 = 1
    var failovers: UInt8 = 0
    /// Waits for the standby that end early.
    var cancellations: UInt8 = 0
    var crashes: UInt8 = 0
    /// Connections that are cut while their call waits.
    var cuts: UInt8 = 0
    /// Restores, each of a backup made at any time before it.
    var restores: UInt8 = 0
    var rule = EpochRule.strict
    /// Steps of the clock by a minute, forward or back.
    var clockSteps: UInt8 = 0

    /// Whether the search is limited to steps that a lab can play.
    var isPlayable = false

    /// The limit of states; reaching it is a failure.
    static let mostStates = 20_000_000

    private static var numbers: [(name: String, path: WritableKeyPath<Bounds, UInt8>)] {
        [
            ("rounds", \.rounds), ("attempts", \.attempts), ("block", \.block), ("sessions", \.sessions),
            ("messages", \.messages), ("rights", \.rights), ("changes", \.changes), ("revocations", \.revocations),
            ("commands", \.commands), ("servers", \.servers), ("failovers", \.failovers),
            ("cancellations", \.cancellations), ("crashes", \.crashes), ("cuts", \.cuts), ("restores", \.restores),
            ("clock", \.clockSteps),
        ]
    }

    /// The names of the bounds that are numbers.
    static var names: [String] { Self.numbers.map(\.name) }

    /// Reads an option such as `messages=5`; returns false for an unknown one.
    mutating func set(_ option: String) -> Bool {
        let parts = option.split(separator: "=").map(String.init)
        guard parts.count == 2 else { return false }
        if parts[0] == "rule", let rule = EpochRule(rawValue: parts[1]) {
            self.rule = rule
        } else if let bound = Self.numbers.first(where: { $0.name == parts[0] }), let number = UInt8(parts[1]) {
            self[keyPath: bound.path] = number
        } else {
            return false
        }
        return true
    }

    /// The wrong verdicts that clients may know since the last right PIN.
    ///
    /// A permanent block is on record before a client learns of it, and a restore keeps it. So if a wallet is open
    /// again after a restore, clients know at most all of its verdicts except the last one.
    func allowance(restores: Int) -> Int {
        let (round, all) = (Int(self.attempts), Int(self.rounds) * Int(self.attempts))
        guard restores > 0 else { return all }
        switch self.rule {
        case .strict: return all - 1 + restores * round
        case .chargeOne: return all - 1 + restores * (all - 1)
        case .trust: return all - 1 + restores * all
        }
    }

    /// Whether the clients' connections may change places: they are served by one server, and none seals a value.
    var areClientsAlike: Bool { self.servers == 1 && self.changes == 0 }

    /// The policy; nil if the bounds cannot be explored.
    var policy: AttemptPolicy? {
        guard self.servers == 1 || self.servers == 2 && self.restores == 0 else { return nil }
        return AttemptPolicy(
            rounds: Int(self.rounds),
            attemptsPerRound: Int(self.attempts),
            blocks: self.block == 0
                ? [] : [Duration](repeating: .seconds(60 * Int(self.block)), count: Int(max(1, self.rounds)) - 1)
        )
    }

    /// The bounds that are not zero.
    var description: String {
        let numbers = Self.numbers.filter { self[keyPath: $0.path] > 0 }
        return numbers.map { "\($0.name)=\(self[keyPath: $0.path])" }.joined(separator: " ")
            + (self.restores > 0 ? " rule=\(self.rule.rawValue)" : "")
    }

    /// The sets of bounds that `make explore` exhausts, by name.
    static let plans: [(name: String, bounds: Bounds)] = [
        ("attempts", Bounds { $0.messages = 4 }),
        ("crashes", Bounds { ($0.crashes, $0.sessions) = (1, 3) }),
        ("blocks", Bounds { ($0.messages, $0.block, $0.clockSteps) = (2, 1, 1) }),
        ("revocation", Bounds { ($0.messages, $0.revocations, $0.crashes) = (2, 1, 1) }),
        ("operator", Bounds { ($0.messages, $0.commands, $0.crashes, $0.cuts) = (2, 1, 1, 1) }),
        ("cuts", Bounds { ($0.cuts, $0.sessions) = (1, 3) }),
        ("cuts-revocation", Bounds { ($0.cuts, $0.messages, $0.revocations, $0.crashes) = (1, 2, 1, 1) }),
        ("change", Bounds { ($0.messages, $0.changes, $0.rights) = (2, 1, 2) }),
        ("two-servers", Bounds { ($0.servers, $0.failovers, $0.cancellations, $0.crashes) = (2, 1, 1, 1) }),
        (
            "two-servers-one-attempt",
            Bounds { ($0.servers, $0.failovers, $0.cancellations, $0.rounds, $0.rights) = (2, 1, 1, 1, 0) }
        ),
        (
            "two-servers-revocation",
            Bounds {
                ($0.servers, $0.failovers, $0.cancellations, $0.crashes) = (2, 1, 1, 1)
                ($0.messages, $0.revocations) = (2, 1)
            }
        ),
        (
            "two-servers-blocks",
            Bounds {
                ($0.servers, $0.failovers, $0.cancellations) = (2, 1, 1)
                ($0.messages, $0.block, $0.clockSteps) = (2, 1, 1)
            }
        ),
        (
            "two-servers-cuts",
            Bounds { ($0.servers, $0.failovers, $0.cancellations, $0.cuts) = (2, 1, 1, 1) }
        ),
        ("restore", Bounds { ($0.restores, $0.rights, $0.crashes) = (1, 0, 1) }),
        (
            "restore-charge-one",
            Bounds { ($0.restores, $0.rule, $0.rights, $0.crashes) = (1, .chargeOne, 0, 1) }
        ),
        ("restore-change", Bounds { ($0.restores, $0.messages, $0.changes) = (1, 2, 1) }),
        ("restore-revocation", Bounds { ($0.restores, $0.rights, $0.messages, $0.revocations) = (1, 0, 2, 1) }),
        ("restore-operator", Bounds { ($0.restores, $0.rights, $0.messages, $0.commands) = (1, 0, 2, 1) }),
    ]

    private init(_ set: (inout Bounds) -> Void) { set(&self) }
}
