import ArgumentParser
internal import ConfigText
internal import HostSystem
internal import LoadEngine
internal import Transport
internal import Vocabulary

struct LoadRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Load a server with PIN checks, verify every answer, and report.",
        discussion: """
            pin-load knows the PIN and the history of every wallet and verifies every answer. An answer that a correct \
            server never gives (a right PIN called wrong, a guess judged during a block) is a violation and fails the \
            run.

            EXAMPLES

              Closed loop with 100 connections:
                pin-load run --lab lab --wallets wallets --connections 100 \\
                  --duration 30s

              Open loop with 2,000 checks per second, one in ten wrong, for CI:
                pin-load run --lab lab --wallets wallets --rate 2000 --duration 1m \\
                  --arrivals poisson --warmup 5s --mix right=90,wrong=10 \\
                  --threshold 'p99<20ms' --threshold 'errors<0.1%'

              A new connection per check; ramp-up, hold, spike:
                pin-load run --lab lab --wallets wallets --connection new \\
                  --stages '30s:50/s,1m,10s:=500/s,30s:=50/s'

              One wallet attacked over 50 connections:
                pin-load run --lab lab --wallets wallets --pick single \\
                  --mix wrong=1 --connections 50 --duration 20s

              10,000 idle sessions, and all reports in a folder:
                pin-load run --lab lab --wallets wallets --rate 500 --duration 1m \\
                  --idle-connections 10k --out result

              200 bursts of 64 concurrent guesses, one of them right:
                pin-load run --lab lab --wallets wallets --attack burst:64 --repeat 200

              The second of four machines; 'pin-load merge' joins their results:
                pin-load run --address pin.example:8443 --ca ca.pem --wallets wallets \\
                  --i-own-this-server pin.example --rate 8000 --connections 400 \\
                  --duration 5m --part 2/4 --start-at 2026-12-01T09:00:00Z \\
                  --out part-2.json

              A ready-made plan ('pin-load profiles' explains them):
                pin-load run --lab lab --wallets wallets --profile spike

              An hour that Prometheus watches:
                pin-load run --lab lab --wallets wallets --rate 500 --duration 1h \\
                  --metrics 127.0.0.1:9466

              A lab server that is killed every three seconds:
                pin-load run --lab lab --wallets wallets --connections 20 --duration 1m \\
                  --mix right=70,wrong=30 --kill-server-every 3s

            STAGES FILE

              stages:
                - {name: morning, for: 30s, ramp_to: 100/s}   # without /s: connections
                - {for: 2m}                                   # holds
                - {name: spike, for: 10s, at: 2000/s}         # jumps

            Ctrl-C ends the run with its report, a second Ctrl-C at once.

            EXIT CODES

                0  success
                1  usage error, or an unusable file
               69  the server is unreachable
               70  a disk error, or a damaged wallet record
               75  another process uses the wallets
               99  a threshold is not met, a violation, or the server was lost;
                   takes precedence over 130
              130  interrupted
            """
    )

    @OptionGroup(title: "Server") var target: TargetOptions

    @OptionGroup var fleet: FleetOptions

    @Option(
        help: ArgumentHelp(
            "Ready-made plan, explained by 'pin-load profiles'; other options replace its values.",
            valueName: "name"
        ),
        completion: .list(LoadProfile.all.map(\.name))
    )
    var profile: String?

    @OptionGroup(title: "Load") var load: LoadOptions

    @OptionGroup(title: "Attack") var attack: AttackOptions

    @OptionGroup(title: "Crashes") var crashes: CrashOptions

    @OptionGroup(title: "Result") var report: ReportOptions

    mutating func run() async throws {
        if let name = self.profile {
            guard let profile = LoadProfile.named(name) else {
                let names = LoadProfile.all.map(\.name).joined(separator: ", ")
                throw ValidationError("--profile: `\(name)` is not one of \(names)")
            }
            self.load.fill(from: profile)
            self.report.thresholds += profile.options.filter { $0.name == "--threshold" }.map(\.value)
        }
        try await self.execute()
    }

    private func execute() async throws {
        try await reportingFailure {
            let (work, interval) = try self.work()
            let thresholds = try self.report.readThresholds()
            let destinations = try self.report.output.destinations()
            let start = try self.load.start()
            let metrics = try self.report.metricsAddress()
            EventLoops.use(threads: self.load.threads)
            guard let interval else { return try await self.run(work, nil, start, thresholds, destinations, metrics) }
            let server = try await self.crashes.startServer(of: self.target)
            do {
                try await self.run(work, (server, interval), start, thresholds, destinations, metrics)
            } catch {
                await server.stop()
                throw error
            }
        }
    }

    enum Work {
        case load(LoadPlan)
        case attack(BurstPlan)
    }

    /// Returns the work, and the interval between two kills of the server.
    private func work() throws(PinLoadFailure) -> (Work, killing: Duration?) {
        do throws(PlanError) {
            let interval = try self.crashes.interval(self.target)
            guard let attack = try self.attack.plan(self.load, self.report) else {
                return (.load(try self.load.plan()), interval)
            }
            if interval != nil {
                throw PlanError([PlanProblem(place: "--kill-server-every", "not together with --attack")])
            }
            return (.attack(attack), nil)
        } catch {
            throw PinLoadFailure(error)
        }
    }

    private func run(
        _ work: Work,
        _ crashing: (server: CrashingServer, interval: Duration)?,
        _ start: ContinuousClock.Instant?,
        _ thresholds: [Threshold],
        _ destinations: [ResultOptions.Destination],
        _ metrics: HostAndPort?
    ) async throws {
        let target = try self.target.target()
        let fleet = try self.fleet.open(for: target)
        let work = self.fitted(work, to: fleet)
        var options = LoadRun.Options()
        options.thresholds = thresholds
        options.abortsOnFail = self.report.abortOnFail
        options.start = start
        options.serverPID =
            crashing?.server.processID ?? self.report.serverPID
            ?? (target.isLoopback ? ListeningProcess.pid(onPort: target.port) : nil)
        if let (server, interval) = crashing {
            options.companions.append { await server.crash(every: interval, telling: $0) }
        }
        // Look this up now, because the process is gone if the run kills the server.
        let serverBuild = options.serverPID.flatMap(ServerBuild.of)
        var measured = try await RunMetrics.serving(at: metrics) { metrics in
            try await self.measure(work, fleet, target, options, metrics)
        }
        if let (server, _) = crashing {
            await server.stop()
            measured.sections.append(server.section)
        }
        let setting = RunSetting.here(work, target, serverBuild: serverBuild, start: measured.start)
        let result = measured.result(setting, thresholds)
        try self.report.output.write(result, to: destinations)
        if result.exitCode != 0 { throw ExitCode(result.exitCode) }
    }

    /// Caps the default number of connections in an open loop at the number of wallets.
    private func fitted(_ work: Work, to fleet: Fleet) -> Work {
        guard case .load(var plan) = work, self.load.connections == nil else { return work }
        plan.openConnections = min(plan.openConnections, fleet.count)
        return .load(plan)
    }

    private func measure(
        _ work: Work,
        _ fleet: Fleet,
        _ target: Target,
        _ options: LoadRun.Options,
        _ metrics: RunMetrics?
    ) async throws -> MeasuredRun {
        let events = RunEvents()
        do throws(RunError) {
            let measured: MeasuredRun
            switch work {
            case .load(let plan):
                measured = try await self.load(plan, fleet, target, options, events, metrics)
            case .attack(let plan): measured = try await self.attack(plan, fleet, target, events)
            }
            try mapError(fleet.close(), to: RunError.fleet)
            return measured
        } catch {
            try? fleet.close()
            throw PinLoadFailure(error)
        }
    }

    private func load(
        _ plan: LoadPlan,
        _ fleet: Fleet,
        _ target: Target,
        _ options: LoadRun.Options,
        _ events: RunEvents,
        _ metrics: RunMetrics?
    ) async throws(RunError) -> MeasuredRun {
        let loop = plan.isOpen ? "open loop" : "closed loop"
        StandardStreams.writeError("\(target.address): \(loop) \(plan.stages.text), seed \(plan.seed)\n")
        let display = ProgressDisplay(wantsLines: self.report.lines)
        return try await display.run(stop: { events.interrupt() }) { () throws(RunError) in
            try await LoadRun(plan, of: fleet, at: target, options: options, events: events).run { progress in
                switch progress {
                // Print at most ten lines, because they may end up in a log.
                case .opening(let count, of: let all):
                    guard count == all || (all >= 1000 && count.isMultiple(of: all / 10)) else { return }
                    display.show(ProgressText(["\(count) of \(all) sessions are open"]))
                case .waiting(let rest): display.show(ProgressText(["beginning in \(rest.clockText)"]))
                case .running(let moment):
                    metrics?.update(moment)
                    display.show(ProgressText(moment, of: plan))
                }
            }
        }
    }

    private func attack(
        _ plan: BurstPlan,
        _ fleet: Fleet,
        _ target: Target,
        _ events: RunEvents
    ) async throws(RunError) -> MeasuredRun {
        StandardStreams.writeError(
            "attacking \(target.address): \(plan.repetitions) bursts of \(plan.size) guesses, connections: "
                + "\(plan.connections), seed: \(plan.seed)\n"
        )
        let display = ProgressDisplay(wantsLines: self.report.lines)
        return try await display.run(stop: { events.interrupt() }) { () throws(RunError) in
            try await BurstAttack(plan, of: fleet, at: target, events: events).run { display.show(ProgressText($0)) }
        }
    }
}

extension PinLoadFailure {
    /// Creates the failure for invalid options.
    init(_ error: PlanError) {
        self.init(.usage, error.problems.map(\.description).joined(separator: "\npin-load: "))
    }

    /// Creates the failure for a run that could not start.
    init(_ error: RunError) {
        switch error {
        case .plan(let error): self.init(error)
        case .fleet(let error): self.init(error)
        case .target(let problem): self.init(.usage, problem.description)
        case .interrupted: self.init(.interrupted, error.description)
        case .server(.connect(.refused), _), .server(.connect(.noRoute), _), .server(.connect(.timedOut), _):
            self.init(.unavailable, "\(error)\(Self.serveHint)")
        case .server: self.init(.unavailable, error.description)
        }
    }
}

extension RunSetting {
    /// Creates the settings of a run that this process started at `start`.
    static func here(
        _ work: LoadRunCommand.Work,
        _ target: Target,
        serverBuild: String?,
        start: Timestamp
    ) -> RunSetting {
        let (seed, entries) =
            switch work {
            case .load(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            case .attack(let plan): (plan.seed, plan.entries.map { PlanEntry($0.name, $0.value) })
            }
        func text(_ path: String) -> String { (try? DurableFile.readText(path, atMost: 1 << 20)) ?? "" }
        return RunSetting(
            command: CommandLine.arguments,
            startMilliseconds: start.milliseconds,
            seed: seed,
            target: target.address,
            serverBuild: serverBuild,
            toolBuild: BuildID.text(of: "pin-load"),
            libraries: ["libssl": TLSLibrary.version],
            plan: entries,
            machine: Machine(
                cpuInfo: text("/proc/cpuinfo"),
                memoryInfo: text("/proc/meminfo"),
                kernelRelease: text("/proc/sys/kernel/osrelease")
            )
        )
    }
}

extension MeasuredRun {
    func result(_ setting: RunSetting, _ thresholds: [Threshold]) -> RunResult {
        let totals = Totals(of: self.intervals)
        let limits = [Self.shortage(of: setting.machine.cores, in: totals), totals.toolLimitNote]
        return RunResult(
            setting: setting,
            intervals: self.intervals,
            thresholds: thresholds,
            end: self.end,
            markers: self.markers,
            sections: self.sections,
            notes: self.notes + limits.compactMap(\.self)
        )
    }

    /// Returns a note if pin-load and the server together nearly saturated the machine's CPUs.
    private static func shortage(of cores: Int, in totals: Totals) -> String? {
        guard let tool = totals.toolCores, let server = totals.serverCores, tool + server > 0.9 * Double(cores) else {
            return nil
        }
        let share = Int((tool / (tool + server) * 100).rounded())
        return "pin-load (\(share)%) and the server used nearly all of the machine's \(cores) cores: times include "
            + "waiting for a processor"
    }
}
