import ArgumentParser
internal import LoadPlan
internal import LoadEngine

/// Options for an attack, which replaces the load.
struct AttackOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Attack instead of a load: burst:64 sends 64 guesses for one wallet at once, one of them right, over 64 "
                + "connections; burst:64/4 uses 4 connections. The report compares the share of accepted right guesses "
                + "with the share that the policy allows. The last wallets stay blocked.",
            valueName: "burst:n"
        ),
        completion: .list(["burst:16"])
    )
    var attack: String?

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp(
            "Bursts of an attack, each on another wallet. If all wallets are blocked, the lab's clock is advanced. "
                + "(default: 100)",
            valueName: "n"
        )
    )
    var repetitions: String?
}

extension AttackOptions {
    /// Returns the plan for the attack, or nil if `--attack` was not given.
    func plan(_ load: LoadOptions, _ report: ReportOptions) throws(PlanError) -> BurstPlan? {
        var reader = OptionReader()
        var plan: BurstPlan?
        reader.read("--attack", self.attack, BurstPlan.init(parsing:place:)) { plan = $0 }
        reader.read("--repeat", self.repetitions, OptionReader.count) { plan?.repetitions = $0 }
        reader.read("--timeout", load.timeout, OptionReader.time) { plan?.timeout = $0 }
        if self.attack == nil, self.repetitions != nil { reader.complain("--repeat", "only with --attack") }
        if self.attack != nil {
            for (option, value) in load.shaping where value != nil {
                reader.complain(option, "not together with --attack, which replaces the load")
            }
            if report.abortOnFail {
                reader.complain(
                    "--abort-on-fail",
                    "not together with --attack, which evaluates thresholds only at its end"
                )
            }
            if report.serverPID != nil {
                reader.complain("--server-pid", "not together with --attack, which measures no CPU time")
            }
            if report.metrics != nil {
                reader.complain("--metrics", "not together with --attack, which has no intervals")
            }
            if plan?.repetitions ?? 1 < 1 { reader.complain("--repeat", "the minimum is 1") }
        }
        plan?.seed = load.seed ?? UInt64.random(in: 1...999_999)
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        return plan
    }
}

extension LoadOptions {
    /// The options that define a load, with their values.
    fileprivate var shaping: [(String, String?)] {
        [
            ("--connections", self.connections), ("--rate", self.rate), ("--duration", self.duration),
            ("--stages", self.stages), ("--stages-file", self.stagesFile), ("--warmup", self.warmup),
            ("--arrivals", self.arrivals), ("--max-in-flight", self.maxInFlight),
            ("--checks-per-wallet", self.checksPerWallet), ("--think", self.think),
            ("--max-wrong-per-wallet", self.maxWrongPerWallet), ("--idle-connections", self.idleConnections),
            ("--part", self.part), ("--start-at", self.startAt),
            ("--mix", self.mix), ("--pick", self.pick), ("--connection", self.connection),
        ]
    }
}
