import ArgumentParser
internal import HostSystem
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import LoadEngine
internal import Transport

/// An attack instead of a load.
struct AttackOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Instead of a load: burst:N sends N guesses for one wallet at once, over N connections, one of them right, again "
                + "and again; burst:64/4 over four connections. Prints how often the right one got in, how often it may, and "
                + "whether the bursts were enough to tell. Its last wallets stay blocked: the report says how to go on with them.",
            valueName: "burst:n"
        ),
        completion: .list(["burst:16"])
    )
    var attack: String?

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp(
            "Bursts of an attack (100); after each another wallet, or a lab's clock is moved.",
            valueName: "n"
        )
    )
    var repetitions: String?
}

extension AttackOptions {
    /// The attack that is asked for; nil where a load is.
    func plan(_ load: LoadOptions, _ report: ReportOptions) throws(PlanError) -> BurstPlan? {
        var reader = OptionReader()
        var plan: BurstPlan?
        reader.read("--attack", self.attack, BurstPlan.init(parsing:place:)) { plan = $0 }
        reader.read("--repeat", self.repetitions, OptionReader.count) { plan?.repetitions = $0 }
        reader.read("--timeout", load.timeout, OptionReader.time) { plan?.timeout = $0 }
        if self.attack == nil, self.repetitions != nil { reader.complain("--repeat", "only with --attack") }
        if self.attack != nil {
            for (option, value) in load.shaping where value != nil {
                reader.complain(option, "not together with --attack, which is a load of its own")
            }
            if report.abortOnFail {
                reader.complain("--abort-on-fail", "not together with --attack, whose thresholds are judged at its end")
            }
            if report.serverPID != nil {
                reader.complain("--server-pid", "not together with --attack, which measures no CPU time")
            }
            if plan?.repetitions ?? 1 < 1 { reader.complain("--repeat", "it takes a number from 1") }
        }
        plan?.seed = load.seed ?? UInt64.random(in: 1...999_999)
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        return plan
    }
}

extension LoadOptions {
    /// The options that say what a load is like.
    fileprivate var shaping: [(String, String?)] {
        [
            ("--connections", self.connections), ("--rate", self.rate), ("--duration", self.duration),
            ("--stages", self.stages), ("--stages-file", self.stagesFile), ("--warmup", self.warmup),
            ("--arrivals", self.arrivals), ("--max-in-flight", self.maxInFlight),
            ("--checks-per-wallet", self.checksPerWallet), ("--think", self.think),
            ("--max-wrong-per-wallet", self.maxWrongPerWallet), ("--idle-connections", self.idleConnections),
            ("--mix", self.mix), ("--pick", self.pick), ("--connection", self.connection),
        ]
    }
}
