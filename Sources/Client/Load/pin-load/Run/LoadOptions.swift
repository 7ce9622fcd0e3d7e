import ArgumentParser
internal import HostSystem
internal import LoadPlan
internal import ConfigText

/// What is asked of the server: everything of a plan, as testers write it.
struct LoadOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A closed loop of so many connections, each with one check at a time; with --rate, how many serve the rate (64).",
            valueName: "n"
        )
    )
    var connections: String?

    @Option(
        help: ArgumentHelp(
            "An open loop: so many checks become due each second, whatever the server does. Latency counts from then.",
            valueName: "n"
        )
    )
    var rate: String?

    @Option(help: ArgumentHelp("How long, without the warm-up; not with stages.", valueName: "time"))
    var duration: String?

    @Option(
        help: ArgumentHelp(
            "A course instead: `30s:100,2m:500` ramps to 100 and 500 connections, `10s:=2000` jumps there and stays, "
                + "`1m` stays where it is; with /s, as in 500/s, they are checks per second.",
            valueName: "stages"
        )
    )
    var stages: String?

    @Option(
        help: ArgumentHelp("The same from a file, with names (see above).", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var stagesFile: String?

    @Option(help: ArgumentHelp("Load before all that, judged but in no figure.", valueName: "time"))
    var warmup: String?

    @Option(
        help: ArgumentHelp("How a rate's checks become due: constant or poisson.", valueName: "process"),
        completion: .list(ArrivalProcess.allCases.map(\.rawValue))
    )
    var arrivals: String?

    @Option(
        help: ArgumentHelp(
            "With a rate: checks due and unanswered at most; what becomes due beyond is counted as unsent (10k).",
            valueName: "n"
        )
    )
    var maxInFlight: String?

    @Option(
        help: ArgumentHelp(
            "What is done, by weights: right, wrong, change-pin, register (right=1).",
            valueName: "name=weight,…"
        ),
        completion: .list(Action.allCases.map { "\($0.rawValue)=1" })
    )
    var mix: String?

    @Option(
        help: ArgumentHelp(
            "warm: a session serves many checks. new: each check has a connection with a full handshake, and a session. "
                + "resumed: as new, TLS resumed with a ticket. Or weights, drawn for each check: warm=90,new=10 (warm).",
            valueName: "use"
        ),
        completion: .list(ConnectionUse.allCases.map(\.rawValue))
    )
    var connection: String?

    @Option(
        help: ArgumentHelp(
            "A warm connection moves on to another wallet, on a new connection, after so many.",
            valueName: "n"
        )
    )
    var checksPerWallet: String?

    @Option(
        help: ArgumentHelp(
            "How wallets are chosen for connections: uniform, zipf:EXPONENT, or single[:INDEX], one wallet attacked from all "
                + "connections; but for single, a wallet is with one connection at a time (uniform).",
            valueName: "how"
        ),
        completion: .list(["uniform", "zipf:1.1", "single"])
    )
    var pick: String?

    @Option(help: ArgumentHelp("Between an answer and the next check: 200ms, or 200ms..1s.", valueName: "time"))
    var think: String?

    @Option(
        help: ArgumentHelp(
            "Wrong PINs in a row for one wallet, then a right one takes their place. One less than a round has, so that a "
                + "run does not block its own wallets; no limit with --pick single.",
            valueName: "n"
        )
    )
    var maxWrongPerWallet: String?

    @Option(help: ArgumentHelp("Sessions that are opened first and stay idle to the end.", valueName: "n"))
    var idleConnections: String?

    @Option(help: ArgumentHelp("For a connection, and for each answer (10s).", valueName: "time"))
    var timeout: String?

    @Option(help: ArgumentHelp("The same seed chooses the same again; random and told unless given.", valueName: "n"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("Event loops of this tool; as many as processors.", valueName: "n"))
    var threads: Int?
}

extension LoadOptions {
    /// The plan; everything that is wrong with it is told at once.
    func plan() throws(PlanError) -> LoadPlan {
        var reader = OptionReader()
        let stages = self.stages(&reader)
        // Where there are none, the rest is read against any, so that all mistakes are found.
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
            if self.duration != nil { reader.complain("--duration", "stages say how long they take") }
            let stages = self.course(&reader)
            if self.connections != nil, stages?.unit == .connections {
                reader.complain("--connections", "stages say how many there are")
            }
            return stages
        }
        return self.constant(&reader)
    }

    /// The stages of the option or of its file.
    private func course(_ reader: inout OptionReader) -> Stages? {
        do throws(PlanError) {
            guard let path = self.stagesFile else {
                do throws(PlanProblem) {
                    return try Stages(parsing: self.stages ?? "")
                } catch {
                    throw PlanError([error])
                }
            }
            return try Self.stages(file: path)
        } catch {
            reader.problems += error.problems
            return nil
        }
    }

    /// One load from the beginning to the end.
    private func constant(_ reader: inout OptionReader) -> Stages? {
        var (level, duration): (Double?, Duration?)
        reader.read("--duration", self.duration, OptionReader.time) { duration = $0 }
        if self.duration == nil { reader.complain("--duration", "say how long, as `--duration 30s`, or give stages") }
        if let rate = self.rate {
            reader.read("--rate", rate, OptionReader.rate) { level = $0 }
        } else if let connections = self.connections {
            reader.read("--connections", connections, OptionReader.count) { level = Double($0) }
        } else {
            reader.complain("--connections", "say how much: --connections N, --rate N, or --stages")
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
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try DurableFile.read(path, atMost: 1 << 20)
        } catch {
            throw PlanError([PlanProblem(place: "--stages-file", error.description)])
        }
        return try Stages(yaml: String(decoding: bytes, as: UTF8.self), source: path)
    }
}
