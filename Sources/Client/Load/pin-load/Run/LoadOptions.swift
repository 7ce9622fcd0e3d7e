import ArgumentParser
internal import FoundationEssentials
internal import HostSystem
internal import LabFiles
internal import LoadEngine

struct LoadOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Closed loop: this many connections, each with one check at a time. With --rate: connections that serve "
                + "it. (default with --rate: 64)",
            valueName: "n"
        )
    )
    var connections: String?

    @Option(
        help: ArgumentHelp(
            "Open loop: checks per second, independent of the server. Latency counts from the due time of a check.",
            valueName: "n"
        )
    )
    var rate: String?

    @Option(help: ArgumentHelp("Length without the warm-up; not with stages.", valueName: "time"))
    var duration: String?

    @Option(
        help: ArgumentHelp(
            "Stages instead: 30s:100,2m:500 ramps up to 100 and then 500 connections, 10s:=2000 jumps and holds, 1m "
                + "holds. With /s, as in 500/s, checks per second.",
            valueName: "stages"
        )
    )
    var stages: String?

    @Option(
        help: ArgumentHelp("Stages from a file (see above).", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var stagesFile: String?

    @Option(
        help: ArgumentHelp("Warm-up with the first load: checked for violations, but not measured.", valueName: "time")
    )
    var warmup: String?

    @Option(
        help: ArgumentHelp("Arrival process of a rate: constant or poisson.", valueName: "process"),
        completion: .list(ArrivalProcess.allCases.map(\.rawValue))
    )
    var arrivals: String?

    @Option(
        help: ArgumentHelp(
            "With a rate: maximum number of checks due and unanswered; further ones count as unsent. (default: 10k)",
            valueName: "n"
        )
    )
    var maxInFlight: String?

    @Option(
        help: ArgumentHelp(
            "Operations by weight: right, wrong, change-pin, register. (default: right=1)",
            valueName: "name=weight,…"
        ),
        completion: .list(Action.allCases.map { "\($0.rawValue)=1" })
    )
    var mix: String?

    @Option(
        help: ArgumentHelp(
            "warm: many checks per session. new: a full handshake and a session per check. resumed: like new, with TLS "
                + "resumption. Or weights, drawn for each check: warm=90,new=10. (default: warm)",
            valueName: "use"
        ),
        completion: .list(ConnectionUse.allCases.map(\.rawValue))
    )
    var connection: String?

    @Option(
        help: ArgumentHelp(
            "Checks after which a warm connection is replaced by one for another wallet.",
            valueName: "n"
        )
    )
    var checksPerWallet: String?

    @Option(
        help: ArgumentHelp(
            "Choice of wallets: uniform, zipf:EXPONENT, or single[:INDEX] for one wallet on all connections. "
                + "Otherwise a wallet has one connection at a time. (default: uniform)",
            valueName: "how"
        ),
        completion: .list(["uniform", "zipf:1.1", "single"])
    )
    var pick: String?

    @Option(
        help: ArgumentHelp("Think time between an answer and the next check: 200ms, or 200ms..1s.", valueName: "time")
    )
    var think: String?

    @Option(
        help: ArgumentHelp(
            "Maximum number of consecutive wrong PINs for one wallet; a right PIN follows. (default: one less than a "
                + "round, so that no wallet is blocked; unlimited with --pick single)",
            valueName: "n"
        )
    )
    var maxWrongPerWallet: String?

    @Option(help: ArgumentHelp("Additional sessions that stay idle during the run.", valueName: "n"))
    var idleConnections: String?

    @Option(help: ArgumentHelp("Timeout of a connection and of an answer. (default: 10s)", valueName: "time"))
    var timeout: String?

    @Option(help: ArgumentHelp("Seed of all random choices. (default: random, in the report)", valueName: "n"))
    var seed: UInt64?

    @Option(
        help: ArgumentHelp(
            "Share of the load for this machine: 2/4 is the second of four. Rate, connections and wallets are those of "
                + "the whole load; each machine has a copy of the wallet file and always the same part.",
            valueName: "i/n"
        )
    )
    var part: String?

    @Option(
        help: ArgumentHelp(
            "Begin at this time, after opening the sessions: 2026-12-01T09:00:00Z. Needs synchronized clocks if "
                + "several machines begin together.",
            valueName: "time"
        )
    )
    var startAt: String?

    @Option(help: ArgumentHelp("Event loops of pin-load. (default: one per processor it may use)", valueName: "n"))
    var threads: Int?
}

extension LoadOptions {
    /// Returns the time given by `--start-at`, or nil if the option was not given.
    func start() throws(PinLoadFailure) -> ContinuousClock.Instant? {
        guard let text = self.startAt else { return nil }
        guard let time = try? Date(text, strategy: .iso8601) else {
            throw PinLoadFailure(.usage, "--start-at: `\(text)` is not a time in UTC; write 2026-12-01T09:00:00Z")
        }
        let rest = time.timeIntervalSinceNow
        guard rest > 0 else { throw PinLoadFailure(.usage, "--start-at: \(text) is in the past") }
        return ContinuousClock.now + .seconds(rest)
    }

    /// Returns the plan.
    ///
    /// If the options contain mistakes, throws all of them at once.
    func plan() throws(PlanError) -> LoadPlan {
        var reader = OptionReader()
        let stages = self.stages(&reader)
        // Continue with placeholder stages, to report mistakes in the other options too.
        guard let some = stages ?? (try? Stages.constant(1, .connections, for: .seconds(1), place: "")) else {
            throw PlanError(reader.problems)
        }
        var plan = LoadPlan(some)
        reader.read("--warmup", self.warmup, OptionReader.time) { plan.warmup = $0 }
        reader.read("--arrivals", self.arrivals, NameText.read(_:place:)) { plan.arrivals = $0 }
        reader.read("--max-in-flight", self.maxInFlight, OptionReader.count) { plan.maxInFlight = $0 }
        reader.read("--mix", self.mix, Mix.init(parsing:place:)) { plan.mix = $0 }
        reader.read("--connection", self.connection, Weights.init(parsingUse:place:)) { plan.connectionUse = $0 }
        reader.read("--checks-per-wallet", self.checksPerWallet, OptionReader.count) { plan.checksPerWallet = $0 }
        reader.read("--pick", self.pick, Pick.init(parsing:place:)) { plan.pick = $0 }
        reader.read("--think", self.think, ThinkTime.init(parsing:place:)) { plan.think = $0 }
        reader.read("--max-wrong-per-wallet", self.maxWrongPerWallet, OptionReader.count) {
            plan.maxWrongPerWallet = $0
        }
        reader.read("--idle-connections", self.idleConnections, OptionReader.count) { plan.idleConnections = $0 }
        reader.read("--timeout", self.timeout, OptionReader.time) { plan.timeout = $0 }
        reader.read("--part", self.part, LoadShare.init(parsing:place:)) { plan.share = $0 }
        if plan.isOpen {
            reader.read("--connections", self.connections, OptionReader.count) { plan.openConnections = $0 }
        } else if stages != nil,
            let option = [("--arrivals", self.arrivals), ("--max-in-flight", self.maxInFlight)].first(where: {
                $0.1 != nil
            })
        {
            reader.complain(option.0, "only with --rate, or stages of rates (/s)")
        }
        plan.seed = self.seed ?? UInt64.random(in: 1...999_999)
        let problems = reader.problems + (reader.problems.isEmpty ? plan.problems : [])
        guard problems.isEmpty else { throw PlanError(problems) }
        return plan
    }

    private func stages(_ reader: inout OptionReader) -> Stages? {
        let sources = [("--stages", self.stages), ("--stages-file", self.stagesFile), ("--rate", self.rate)]
        let given = sources.filter { $0.1 != nil }.map(\.0)
        guard given.count <= 1 else {
            reader.complain(given[1], "not together with \(given[0])")
            return nil
        }
        guard given.isEmpty || given == ["--rate"] else {
            if self.duration != nil { reader.complain("--duration", "stages define the duration") }
            let stages = self.course(&reader)
            if self.connections != nil, stages?.unit == .connections {
                reader.complain("--connections", "stages define the connections")
            }
            return stages
        }
        return self.constant(&reader)
    }

    /// Returns the stages given by `--stages` or `--stages-file`.
    private func course(_ reader: inout OptionReader) -> Stages? {
        do throws(PlanError) {
            guard let path = self.stagesFile else {
                return try mapError(Stages(parsing: self.stages ?? "")) { (error: PlanProblem) in PlanError([error]) }
            }
            return try Self.stages(file: path)
        } catch {
            reader.problems += error.problems
            return nil
        }
    }

    /// Returns the single stage of a constant load.
    private func constant(_ reader: inout OptionReader) -> Stages? {
        var (level, duration): (Double?, Duration?)
        reader.read("--duration", self.duration, OptionReader.time) { duration = $0 }
        if self.duration == nil { reader.complain("--duration", "missing; write --duration 30s, or give stages") }
        if let rate = self.rate {
            reader.read("--rate", rate, OptionReader.rate) { level = $0 }
        } else if let connections = self.connections {
            reader.read("--connections", connections, OptionReader.count) { level = Double($0) }
        } else {
            reader.complain("--connections", "missing; write --connections N, --rate N or --stages")
        }
        guard let level, let duration else { return nil }
        let (unit, place) = self.rate == nil ? (LoadUnit.connections, "--connections") : (.perSecond, "--rate")
        var stages: Stages?
        do throws(PlanProblem) {
            stages = try Stages.constant(level, unit, for: duration, place: place)
        } catch {
            reader.problems.append(error)
        }
        return stages
    }

    private static func stages(file path: String) throws(PlanError) -> Stages {
        let bytes = try mapError(InputFile.read(path, atMost: 1 << 20)) { (error: FileError) in
            PlanError([PlanProblem(place: "--stages-file", error.description)])
        }
        return try Stages(yaml: String(decoding: bytes, as: UTF8.self), source: path)
    }
}

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

/// Options for crashing a lab's server during the load.
struct CrashOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --lab: start the lab's server, and kill and restart it at this interval during the load. The "
                + "run fails if a restart takes more than 30s.",
            valueName: "time"
        )
    )
    var killServerEvery: String?

    @Option(
        help: ArgumentHelp("Server program. (default: the one next to pin-load)", valueName: "file"),
        completion: .file()
    )
    var serverProgram: String?
}

extension CrashOptions {
    /// Returns the interval between two kills, or nil for none.
    func interval(_ target: TargetOptions) throws(PlanError) -> Duration? {
        var reader = OptionReader()
        var interval: Duration?
        reader.read("--kill-server-every", self.killServerEvery, OptionReader.time) { interval = $0 }
        if self.killServerEvery != nil, target.lab == nil {
            reader.complain("--kill-server-every", "only with --lab, whose server pin-load starts itself")
        }
        if let interval, interval < .milliseconds(100) {
            reader.complain("--kill-server-every", "the minimum is 100ms")
        }
        if self.killServerEvery == nil, self.serverProgram != nil {
            reader.complain("--server-program", "only with --kill-server-every")
        }
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        return interval
    }

    func startServer(of target: TargetOptions) async throws(PinLoadFailure) -> CrashingServer {
        do throws(CrashingServer.Problem) {
            return try await CrashingServer.start(LabFolder(target.lab ?? ""), program: self.serverProgram)
        } catch {
            throw PinLoadFailure(.usage, error.description)
        }
    }
}
