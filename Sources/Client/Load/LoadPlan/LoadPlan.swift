internal import ConfigText

/// The load of a run: a pure value; the same seed gives the same requests.
package struct LoadPlan: Hashable, Sendable {
    package var stages: Stages
    /// The time before the stages, with the load of the first stage.
    ///
    /// Its verdicts are checked, but no figure includes it.
    package var warmup: Duration = .zero
    /// The process by which checks become due in an open loop.
    package var arrivals = ArrivalProcess.constant
    /// The number of connections in an open loop, at least 1.
    ///
    /// In a closed loop the stages state it.
    package var openConnections = 64
    /// The highest number of due and unanswered checks in an open loop; further due checks are counted as unsent.
    package var maxInFlight = 10_000
    package var mix = Mix(only: .right)
    package var connectionUse = Weights<ConnectionUse>(only: .warm)
    /// The number of checks after which a warm connection is replaced by one of another wallet; nil for never.
    package var checksPerWallet: Int?
    package var pick = Pick.uniform
    package var think = ThinkTime.none
    /// The number of wrong PINs in a row for one wallet, after which a right one is sent; nil for one less than a
    /// round.
    ///
    /// The limit prevents a run from blocking its own wallets. By default an attack on a single wallet has no limit.
    package var maxWrongPerWallet: Int?
    /// The number of sessions that are opened before the run and stay idle until its end.
    package var idleConnections = 0
    /// The timeout of connecting and of each call.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1

    package init(_ stages: Stages) {
        self.stages = stages
    }

    package var isOpen: Bool { self.stages.unit == .perSecond }

    /// The highest number of concurrent connections, including idle ones.
    package var peakConnections: Int {
        (self.isOpen ? self.openConnections : Int(self.stages.peak.rounded(.up))) + self.idleConnections
    }

    package var schedule: Schedule { Schedule(self.stages, warmup: self.warmup) }

    /// The contradictions within the plan.
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
        return problems
    }

    /// Each choice with its name, for the stored result and for comparisons of results.
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
        return entries
    }
}
