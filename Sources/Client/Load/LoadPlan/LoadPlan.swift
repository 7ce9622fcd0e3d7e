internal import ConfigText

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

    package init(_ stages: Stages) {
        self.stages = stages
    }

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
