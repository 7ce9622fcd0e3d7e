import ArgumentParser
internal import HostSystem
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import LoadEngine
internal import Transport
internal import Vocabulary

/// `pin-load run`: the load, its display and its result.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Load a server with PIN checks, judge every answer, and report.",
        discussion: """
            Every wallet's true PIN and history are known, so every answer is judged: one that no correct server gives (a \
            right PIN called wrong, a guess judged during a block) is a violation and fails the run.

            EXAMPLES

              As fast as 100 connections go, for half a minute:
                pin-load run --lab lab --wallets wallets --connections 100 \\
                  --duration 30s

              2,000 checks a second whatever happens, one in ten wrong, for CI:
                pin-load run --lab lab --wallets wallets --rate 2000 --duration 1m \\
                  --arrivals poisson --warmup 5s --mix right=90,wrong=10 \\
                  --threshold 'p99<20ms' --threshold 'errors<0.1%'

              Unlocks as phones do them, a connection each; a ramp, then a spike:
                pin-load run --lab lab --wallets wallets --connection new \\
                  --stages '30s:50/s,1m,10s:=500/s,30s:=50/s'

              Checks on open sessions, of which one in ten opens a new one:
                pin-load run --lab lab --wallets wallets --connection warm=90,new=10 \\
                  --rate 500 --duration 1m

              One wallet under attack from 50 connections:
                pin-load run --lab lab --wallets wallets --pick single \\
                  --mix wrong=1 --connections 50 --duration 20s

              10,000 idle sessions beside it, and every report in a folder:
                pin-load run --lab lab --wallets wallets --rate 500 --duration 1m \\
                  --idle-connections 10k --out result

              64 guesses at once for one wallet, one of them right, 200 times:
                pin-load run --lab lab --wallets wallets --attack burst:64 --repeat 200

              The lab's server, started by this command, killed every three seconds:
                pin-load run --lab lab --wallets wallets --connections 20 --duration 1m \\
                  --mix right=70,wrong=30 --kill-server-every 3s

            A FILE OF STAGES

              stages:
                - {name: morning, for: 30s, ramp_to: 100/s}   # without /s: connections
                - {for: 2m}                                   # stays
                - {name: spike, for: 10s, at: 2000/s}         # jumps

            A first Ctrl-C ends the run with its report, a second one at once.

            EXIT CODES

                0  done
                1  usage, or a file that is named cannot be used
               69  the server cannot be reached at all
               70  the disk failed or is full, or a wallet's record is damaged
               75  the wallets are in use by another process
               99  a threshold does not hold, a violation, or the server was lost;
                   also where the run was interrupted
              130  interrupted, with a report unless no check had been made yet
            """
    )

    @OptionGroup(title: "The server") var target: TargetOptions

    @Option(
        help: ArgumentHelp("The file of wallets that `pin-load provision` wrote.", valueName: "file"),
        completion: .file()
    )
    var wallets: String

    @Flag(
        help:
            "Forget what earlier runs learned of all wallets: for a server whose store was restored from a backup since."
    )
    var forgetHistories = false

    @OptionGroup(title: "The load") var load: LoadOptions

    @OptionGroup(title: "An attack instead") var attack: AttackOptions

    @OptionGroup(title: "Crashes") var crashes: CrashOptions

    @OptionGroup(title: "The result") var report: ReportOptions

    func run() async throws {
        try await ending {
            let (work, interval) = try self.work()
            let thresholds = try self.report.readThresholds()
            let destinations = try self.report.destinations()
            if let threads = self.load.threads { EventLoops.use(threads: threads) }
            guard let interval else { return try await self.run(work, nil, thresholds, destinations) }
            let server = try await self.crashes.startServer(of: self.target)
            do {
                try await self.run(work, (server, interval), thresholds, destinations)
            } catch {
                await server.stop()
                throw error
            }
        }
    }

    /// What is to be done.
    enum Work {
        case load(LoadPlan)
        case attack(BurstPlan)
    }

    /// The work, and how often the server is to be killed meanwhile.
    private func work() throws(CommandFailure) -> (Work, killing: Duration?) {
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
            throw CommandFailure(error)
        }
    }

    private func run(
        _ work: Work,
        _ crashing: (server: CrashingServer, interval: Duration)?,
        _ thresholds: [Threshold],
        _ destinations: [ReportOptions.Destination]
    ) async throws {
        let target = try self.target.target()
        let fleet: Fleet
        do throws(FleetError) {
            fleet = try Fleet.open(self.wallets, for: target.fingerprint)
            if self.forgetHistories { try fleet.forgetHistories() }
        } catch {
            throw CommandFailure(error)
        }
        let work = self.fitted(work, to: fleet)
        var options = LoadRun.Options()
        options.thresholds = thresholds
        options.abortsOnFail = self.report.abortOnFail
        options.serverPID =
            crashing?.server.processID ?? self.report.serverPID
            ?? (target.isLoopback ? ListeningProcess.pid(onPort: target.port) : nil)
        if let (server, interval) = crashing {
            options.companions.append { await server.crash(every: interval, telling: $0) }
        }
        let setting = RunSetting.here(work, target, serverPID: options.serverPID)
        var measured = try await self.measure(work, fleet, target, options)
        if let (server, _) = crashing {
            await server.stop()
            measured.sections.append(server.section)
        }
        let result = measured.result(setting.started(at: measured.start), thresholds)
        try self.report.write(result, to: destinations)
        if result.exitCode != 0 { throw ExitCode(result.exitCode) }
    }

    /// What nobody asked for must not be more than there is: connections that serve a rate.
    private func fitted(_ work: Work, to fleet: Fleet) -> Work {
        guard case .load(var plan) = work, self.load.connections == nil else { return work }
        plan.openConnections = min(plan.openConnections, fleet.count)
        return .load(plan)
    }

    private func measure(
        _ work: Work,
        _ fleet: Fleet,
        _ target: Target,
        _ options: LoadRun.Options
    ) async throws -> MeasuredRun {
        let events = RunEvents()
        do throws(RunError) {
            let measured: MeasuredRun
            switch work {
            case .load(let plan): measured = try await self.load(plan, fleet, target, options, events)
            case .attack(let plan): measured = try await self.attack(plan, fleet, target, events)
            }
            do throws(FleetError) { try fleet.close() } catch { throw .fleet(error) }
            return measured
        } catch {
            try? fleet.close()
            throw CommandFailure(error)
        }
    }

    private func load(
        _ plan: LoadPlan,
        _ fleet: Fleet,
        _ target: Target,
        _ options: LoadRun.Options,
        _ events: RunEvents
    ) async throws(RunError) -> MeasuredRun {
        let display = RunDisplay(plan, address: target.address, wantsLines: self.report.lines)
        display.begin()
        defer { display.end() }
        let watching = await Interruption.watch {
            display.stop()
            events.interrupt()
        } beforeExit: {
            display.end()
        }
        defer { watching.cancel() }
        return try await LoadRun(plan, of: fleet, at: target, options: options, events: events).run {
            display.hear($0)
        }
    }

    private func attack(
        _ plan: BurstPlan,
        _ fleet: Fleet,
        _ target: Target,
        _ events: RunEvents
    ) async throws(RunError) -> MeasuredRun {
        let display = AttackDisplay(wantsLines: self.report.lines)
        display.begin(plan, address: target.address)
        defer { display.end() }
        let watching = await Interruption.watch {
            display.stop()
            events.interrupt()
        } beforeExit: {
            display.end()
        }
        defer { watching.cancel() }
        return try await BurstAttack(plan, of: fleet, at: target, events: events).run {
            display.hear($0)
        }
    }
}

extension CommandFailure {
    /// What was asked for cannot be done.
    init(_ error: PlanError) {
        self.init(.usage, error.problems.map(\.description).joined(separator: "\npin-load: "))
    }

    /// A run did not come about.
    init(_ error: RunError) {
        switch error {
        case .plan(let error): self.init(error)
        case .fleet(let error): self.init(error)
        case .target(let problem): self.init(.usage, problem.description)
        case .interrupted: self.init(.interrupted, error.description)
        case .server(.connect(.refused), _), .server(.connect(.noRoute), _), .server(.connect(.timedOut), _):
            self.init(
                .unavailable,
                "\(error)\n  Is it being served? remote-pin-server lab up DIR, in another terminal."
            )
        case .server: self.init(.unavailable, error.description)
        }
    }
}
