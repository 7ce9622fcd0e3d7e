internal import ConfigText

/// Everything that is asked of a run; pure, and the same each time with the same seed.
package struct LoadPlan: Hashable, Sendable {
    package var stages: Stages
    /// Runs before the stages with the load of the first; judged as all, and left out of every figure.
    package var warmup: Duration = .zero
    /// In an open loop.
    package var arrivals = ArrivalProcess.constant
    /// In an open loop: the connections that serve what is due, at least 1.
    ///
    /// In a closed one the stages say it.
    package var openConnections = 64
    /// In an open loop: the most checks that are due and not answered yet; what becomes due beyond is counted as unsent.
    package var maxInFlight = 10_000
    package var mix = Mix(only: .right)
    package var connectionUse = Weights<ConnectionUse>(only: .warm)
    /// After how many checks a warm connection moves on to another wallet, and thereby to a new connection; nil for never.
    package var checksPerWallet: Int?
    package var pick = Pick.uniform
    package var think = ThinkTime.none
    /// Wrong PINs in a row for one wallet, then a right one takes their place; nil for one less than a round has.
    ///
    /// So a run does not block its own wallets. An attack on a single wallet has no such limit unless it is given one.
    package var maxWrongPerWallet: Int?
    /// Sessions that are opened before the run and stay idle until its end.
    package var idleConnections = 0
    /// For a connection, and for each call.
    package var timeout: Duration = .seconds(10)
    package var seed: UInt64 = 1

    package init(_ stages: Stages) {
        self.stages = stages
    }

    package var isOpen: Bool { self.stages.unit == .perSecond }

    /// The most connections that are used at once, idle ones included.
    package var peakConnections: Int {
        (self.isOpen ? self.openConnections : Int(self.stages.peak.rounded(.up))) + self.idleConnections
    }

    package var schedule: Schedule { Schedule(self.stages, warmup: self.warmup) }

    /// What cannot go together, as far as the plan alone tells.
    package var problems: [PlanProblem] {
        var problems: [PlanProblem] = []
        func check(_ isRight: Bool, _ place: String, _ text: String) {
            if !isRight { problems.append(PlanProblem(place: place, text)) }
        }
        check(self.openConnections >= 1, "--connections", "at least one connection is needed")
        check(self.maxInFlight >= 1, "--max-in-flight", "it takes a number from 1")
        check(self.timeout > .zero, "--timeout", "it takes a time above 0")
        check(self.warmup >= .zero, "--warmup", "it takes a time from 0")
        check(self.checksPerWallet ?? 1 >= 1, "--checks-per-wallet", "it takes a number from 1")
        check(self.maxWrongPerWallet ?? 0 >= 0, "--max-wrong-per-wallet", "it takes a number from 0")
        check(self.idleConnections >= 0, "--idle-connections", "it takes a number from 0")
        check(!self.isOpen || self.think == .none, "--think", "with a rate, the rate alone says when a check is due")
        check(
            self.checksPerWallet == nil || self.connectionUse.contains(.warm),
            "--checks-per-wallet",
            "`--connection \(self.connectionUse.useText)` means one check for each connection already"
        )
        check(
            !self.pick.sharesWallets || !self.mix.contains(.changePIN),
            "--mix",
            "change-pin with `--pick single`: lanes that share a wallet would change its PIN under each other"
        )
        return problems
    }

    /// Each choice with its name, as it is stored with the result and as results are compared.
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
