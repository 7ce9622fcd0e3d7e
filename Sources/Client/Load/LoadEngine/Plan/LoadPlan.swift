internal import ConfigText
internal import Glibc

/// The load of a run, as a pure value.
///
/// Runs with the same seed send the same requests.
package struct LoadPlan: Hashable, Sendable {
    package var stages: Stages
    /// The time before the stages, with the load of the first stage.
    ///
    /// Verdicts during the warm-up are checked like any others, but excluded from the figures.
    package var warmup: Duration = .zero
    /// The process by which checks become due in an open loop.
    package var arrivals = ArrivalProcess.constant
    /// The number of connections in an open loop, at least 1.
    ///
    /// In a closed loop, the stages specify this number.
    package var openConnections = 64
    /// The maximum number of due and unanswered checks in an open loop.
    ///
    /// Checks beyond this number are counted as unsent.
    package var maxInFlight = 10_000
    package var mix = Mix(only: .right)
    package var connectionUse = Weights<ConnectionUse>(only: .warm)
    /// The number of checks after which a warm connection is replaced with a connection for another wallet.
    ///
    /// If nil, the connection is kept.
    package var checksPerWallet: Int?
    package var pick = Pick.uniform
    package var think = ThinkTime.none
    /// The number of consecutive wrong PINs for a wallet before a right one is sent.
    ///
    /// Defaults to one less than a round. Without this limit, a run would block its own wallets. By default, an attack
    /// on a single wallet is not limited.
    package var maxWrongPerWallet: Int?
    /// The number of sessions opened before the run that stay idle until its end.
    package var idleConnections = 0
    /// The timeout for connecting and for each call.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1
    /// This machine's share of the load.
    ///
    /// All other values describe the whole load.
    package var share = LoadShare.whole

    package init(_ stages: Stages) { self.stages = stages }

    package var isOpen: Bool { self.stages.unit == .perSecond }

    /// The peak number of connections that carry load on this machine.
    package var peakUsers: Int {
        self.share.size(of: self.isOpen ? self.openConnections : Int(self.stages.peak.rounded(.up)))
    }

    /// The number of idle connections on this machine.
    package var ownIdleConnections: Int { self.share.size(of: self.idleConnections) }

    /// The peak number of connections on this machine, including idle ones.
    package var peakConnections: Int { self.peakUsers + self.ownIdleConnections }

    /// The maximum number of due and unanswered checks on this machine.
    package var ownMaxInFlight: Int { max(1, self.share.size(of: self.maxInFlight)) }

    /// The seed for this machine's random choices.
    ///
    /// It differs between the shares of one load.
    package var ownSeed: UInt64 { self.seed &+ UInt64(self.share.number - 1) &* 0x9E37_79B9_7F4A_7C15 }

    /// The times at which this machine's checks are due in an open loop.
    package var dueTimes: Arrivals { Arrivals(self.arrivals, self.schedule, seed: self.ownSeed, share: self.share) }

    package var schedule: Schedule { Schedule(self.stages, warmup: self.warmup) }

    /// Contradictions between the plan's values.
    package var problems: [PlanProblem] {
        var problems: [PlanProblem] = []
        func check(_ isRight: Bool, _ place: String, _ text: String) {
            if !isRight { problems.append(PlanProblem(place: place, text)) }
        }
        check(self.openConnections >= 1, "--connections", "at least one connection is needed")
        check(self.maxInFlight >= 1, "--max-in-flight", "must be at least 1")
        check(self.timeout > .zero, "--timeout", "must be longer than 0s")
        check(self.warmup >= .zero, "--warmup", "must not be negative")
        check(self.checksPerWallet ?? 1 >= 1, "--checks-per-wallet", "must be at least 1")
        check(self.maxWrongPerWallet ?? 0 >= 0, "--max-wrong-per-wallet", "must not be negative")
        check(self.idleConnections >= 0, "--idle-connections", "must not be negative")
        check(
            !self.isOpen || self.think == .none,
            "--think",
            "cannot be combined with a rate, which sets the due times"
        )
        check(
            self.checksPerWallet == nil || self.connectionUse.contains(.warm),
            "--checks-per-wallet",
            "`--connection \(self.connectionUse.useText)` already means one check per connection"
        )
        check(
            !self.pick.sharesWallets || !self.mix.contains(.changePIN),
            "--mix",
            "change-pin cannot be combined with `--pick single`: lanes that share a wallet would change its PIN "
                + "concurrently"
        )
        check(
            self.share == .whole || self.peakUsers >= 1,
            "--part",
            "\(self.share.count) machines need at least \(self.share.count) connections"
        )
        check(
            self.share == .whole || !self.pick.sharesWallets,
            "--part",
            "cannot be combined with `--pick single`: a machine can check only the answers to its own requests"
        )
        return problems
    }

    /// The name of the entry that differs between the shares of one load.
    private static let shareEntry = "part"

    /// All choices with their names, for storing and comparing results.
    package var entries: [(name: String, value: String)] {
        var entries = [("loop", self.isOpen ? "open" : "closed"), ("stages", self.stages.text)]
        if self.isOpen {
            entries.append(("arrivals", self.arrivals.rawValue))
            entries.append(("connections", "\(self.openConnections)"))
            entries.append(("max in flight", "\(self.maxInFlight)"))
        }
        if self.warmup > .zero { entries.append(("warm-up", DurationText.write(self.warmup))) }
        entries.append(("mix", self.mix.text))
        entries.append(("pick", self.pick.text))
        entries.append(("connection", self.connectionUse.useText))
        if let checks = self.checksPerWallet { entries.append(("checks per wallet", "\(checks)")) }
        if self.think != .none { entries.append(("think", self.think.text)) }
        if let wrong = self.maxWrongPerWallet { entries.append(("max wrong per wallet", "\(wrong)")) }
        if self.idleConnections > 0 { entries.append(("idle connections", "\(self.idleConnections)")) }
        entries.append(("timeout", DurationText.write(self.timeout)))
        if self.share != .whole { entries.append((Self.shareEntry, self.share.text)) }
        return entries
    }
}

/// One machine's share of a load that several machines generate together.
///
/// Together, the shares are equal to the load of a single machine: the same arrivals, connections and wallets.
package struct LoadShare: Hashable, Sendable {
    /// The number of the machine, from 1 to ``count``.
    package let number: Int
    package let count: Int

    /// The whole load, generated by a single machine.
    package static let whole = LoadShare(number: 1, count: 1)

    /// The minimum and maximum number of machines.
    private static let allowedCounts = 1...1000

    private init(number: Int, count: Int) {
        self.number = number
        self.count = count
    }

    /// Parses a share such as `2/4`, the second of four.
    ///
    /// - Parameter place: The option name, for error messages.
    package init(parsing text: String, place: String) throws(PlanProblem) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], Self.allowedCounts.contains(count),
            (1...count).contains(number)
        else {
            throw PlanProblem(place: place, "`\(text)` is not a part; write 1/4 to 4/4 on four machines")
        }
        self.init(number: number, count: count)
    }

    package var text: String { "\(self.number)/\(self.count)" }

    /// Returns the items out of `total` that belong to this share.
    ///
    /// The sizes of the shares differ by at most one.
    package func range(of total: Int) -> Range<Int> {
        total * (self.number - 1) / self.count..<total * self.number / self.count
    }

    /// Returns the number of items out of `total` that belong to this share.
    package func size(of total: Int) -> Int { self.range(of: total).count }
}

/// A run's random number generator, SplitMix64, which makes runs reproducible from a seed.
///
/// Never use it for secrets. Each lane has its own stream because lanes run concurrently. With a shared stream,
/// requests would depend on the order in which the lanes draw.
package struct PlanGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { self.state = seed }

    /// Creates one of the streams derived from a seed.
    package init(seed: UInt64, stream: UInt64) {
        var mixer = PlanGenerator(seed: seed ^ 0x6A09_E667_F3BC_C908)
        mixer.state = mixer.next() ^ stream &* 0xD1B5_4A32_D192_ED03
        self.state = mixer.next()
    }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number uniformly distributed in `0..<1`, in steps of 2⁻⁵³.
    package mutating func nextUnit() -> Double { Double(self.next() >> 11) * 0x1p-53 }

    /// Returns a positive number from an exponential distribution with mean 1.
    package mutating func nextExponential() -> Double { -log(1 - self.nextUnit()) }

    /// Returns a number uniformly distributed in `0..<bound`.
    ///
    /// The bias is below bound / 2⁶⁴.
    ///
    /// - Precondition: `bound` is positive.
    package mutating func next(below bound: Int) -> Int {
        precondition(bound > 0, "the bound must be positive")
        return Int(self.next().multipliedFullWidth(by: UInt64(bound)).high)
    }
}

/// A mistake in the options or files of a run.
package struct PlanProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The option, or the file and line.
    package let place: String
    package let text: String

    package init(place: String, _ text: String) {
        self.place = place
        self.text = text
    }

    package var description: String { "\(self.place): \(self.text)" }
}

/// All mistakes in the options and files of a run, so that the user can correct them together.
package struct PlanError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [PlanProblem]

    package init(_ problems: [PlanProblem]) { self.problems = problems }

    package var description: String { self.problems.map(\.description).joined(separator: "\n") }
}
