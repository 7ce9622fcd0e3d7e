import ArgumentParser
internal import HostSystem
internal import LoadEngine

struct ProveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prove",
        abstract: "Verify the promises of your own servers while faults are injected, and report for auditors.",
        discussion: """
            Wallets check and change PINs through one or several servers of one store. A program that you supply \
            injects faults at random times and heals them. Every answer is verified against its wallet's history: no \
            guess is free, no attempt remains counted after a right PIN, no acknowledged change of a PIN is lost, and \
            nothing is released after an acknowledged revocation. The run ends by itself.

            FAULT HOOK

              The program is called with one word, and returns when its effect is
              complete. Another status than 0 fails the run.
                list      prints the names of its faults, one per line
                NAME      injects this fault
                heal      removes every fault; also called at the end

              deploy/prove/lab-faults.sh is such a program for a lab on this machine.

            EXAMPLES

              A lab server that is killed and frozen, for ten minutes:
                export LAB=lab; deploy/prove/lab-faults.sh start
                pin-load prove --lab lab --wallets wallets --out proof \\
                  --fault-hook deploy/prove/lab-faults.sh

              Two servers of one store, with revocations:
                pin-load prove --address pin1.lan:7443 --also pin2.lan:7443 --ca ca.pem \\
                  --i-own-this-server pin1.lan --i-own-this-server pin2.lan \\
                  --wallets wallets --fault-hook ./cluster-faults --duration 1h \\
                  --revoke-with 'remote-pin-server admin revoke wallet'

            EXIT CODES

                0  every promise was kept
                1  usage error, or an unusable file
               69  the server is unreachable
               70  a disk error, or a damaged wallet record
               75  another process uses the wallets
               99  a promise was broken or not shown: a violation, a failed hook,
                   no fault injected, a server that did not recover
              130  interrupted
            """
    )

    @OptionGroup(title: "Server") var target: TargetOptions

    @Option(
        help: ArgumentHelp(
            "Another server of the same store, with a certificate of the same authority. Repeatable; connections "
                + "take turns.",
            valueName: "host:port"
        )
    )
    var also: [String] = []

    @OptionGroup var fleet: FleetOptions

    @OptionGroup(title: "Proof") var proof: ProofOptions

    @OptionGroup(title: "Result") var report: ReportOptions

    func run() async throws {
        try await reportingFailure {
            let plan = try self.proof.loadPlan()
            let thresholds = try self.report.readThresholds()
            let target = try self.target.target()
            let others = try self.also.map { try self.target.sibling(of: target, at: $0) }
            let proof = Proof(try await self.proof.plan(for: plan))
            let destinations = try self.report.output.destinations()
            var options = LoadRun.Options()
            options.thresholds = thresholds
            options.abortsOnFail = self.report.abortOnFail
            options.serverPID = self.report.serverPID
            options.others = others
            options.proof = proof
            var measured = try await self.measure(plan, target, options)
            measured.sections += proof.sections(for: measured.intervals)
            let setting = RunSetting.here(.load(plan), target, serverBuild: nil, start: measured.start)
            let result = measured.result(setting, thresholds)
            try self.report.output.write(result, to: destinations)
            if result.exitCode != 0 { throw ExitCode(result.exitCode) }
        }
    }

    private func measure(_ plan: LoadPlan, _ target: Target, _ options: LoadRun.Options) async throws -> MeasuredRun {
        let fleet = try self.fleet.open(for: target)
        let events = RunEvents()
        let addresses = ([target] + options.others).map(\.address).joined(separator: ", ")
        StandardStreams.writeError("\(addresses): \(plan.stages.text), seed \(plan.seed)\n")
        let display = ProgressDisplay(wantsLines: self.report.lines)
        do throws(RunError) {
            let measured = try await display.run(stop: { events.interrupt() }) { () throws(RunError) in
                try await LoadRun(plan, of: fleet, at: target, options: options, events: events).run { progress in
                    if case .running(let moment) = progress { display.show(ProgressText(moment, of: plan)) }
                }
            }
            try mapError(fleet.close(), to: RunError.fleet)
            return measured
        } catch {
            try? fleet.close()
            throw PinLoadFailure(error)
        }
    }
}

/// Options for the load, faults and revocations of `pin-load prove`.
struct ProofOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Connections, each with one operation at a time.", valueName: "n"))
    var connections = "16"

    @Option(help: ArgumentHelp("Length of the run.", valueName: "time"))
    var duration = "10m"

    @Option(help: ArgumentHelp("Operations by weight: right, wrong, change-pin.", valueName: "name=weight,…"))
    var mix = "right=60,wrong=35,change-pin=5"

    @Option(help: ArgumentHelp("Timeout of a connection and of an answer.", valueName: "time"))
    var timeout = "5s"

    @Option(help: ArgumentHelp("Seed of all random choices. (default: random, in the report)", valueName: "n"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("Program that injects faults (see above).", valueName: "command"))
    var faultHook: String?

    @Option(help: ArgumentHelp("Faults to inject. (default: those that the hook lists)", valueName: "name,…"))
    var faults: String?

    @Option(help: ArgumentHelp("Mean time between a healed fault and the next one.", valueName: "time"))
    var faultEvery = "20s"

    @Option(help: ArgumentHelp("Mean time between a fault and its healing.", valueName: "time"))
    var faultFor = "3s"

    @Option(
        help: ArgumentHelp(
            "Command that revokes the wallet whose id is appended, and returns when the revocation is in force. "
                + "Revoked wallets cannot be used again.",
            valueName: "command"
        )
    )
    var revokeWith: String?

    @Option(help: ArgumentHelp("Mean time between two revocations.", valueName: "time"))
    var revokeEvery = "30s"
}

extension ProofOptions {
    /// The number of operations before a connection moves on to another wallet.
    private static let checksPerWallet = 25

    func loadPlan() throws(PinLoadFailure) -> LoadPlan {
        var reader = OptionReader()
        var (connections, duration): (Int?, Duration?)
        reader.read("--connections", self.connections, OptionReader.count) { connections = $0 }
        reader.read("--duration", self.duration, OptionReader.time) { duration = $0 }
        var stages: Stages?
        if let connections, let duration {
            do throws(PlanProblem) {
                stages = try Stages.constant(Double(connections), .connections, for: duration, place: "--connections")
            } catch {
                reader.problems.append(error)
            }
        }
        guard let stages else { throw PinLoadFailure(PlanError(reader.problems)) }
        var plan = LoadPlan(stages)
        reader.read("--mix", self.mix, Mix.init(parsing:place:)) { plan.mix = $0 }
        reader.read("--timeout", self.timeout, OptionReader.time) { plan.timeout = $0 }
        plan.checksPerWallet = Self.checksPerWallet
        plan.seed = self.seed ?? UInt64.random(in: 1...999_999)
        let problems = reader.problems + plan.problems
        guard problems.isEmpty else { throw PinLoadFailure(PlanError(problems)) }
        return plan
    }

    /// Builds the plan; asks the hook which faults it supports.
    func plan(for load: LoadPlan) async throws(PinLoadFailure) -> ProofPlan {
        var (plan, reader) = (ProofPlan(), OptionReader())
        reader.read("--fault-every", self.faultEvery, OptionReader.time) { plan.faultEvery = $0 }
        reader.read("--fault-for", self.faultFor, OptionReader.time) { plan.faultFor = $0 }
        reader.read("--revoke-every", self.revokeEvery, OptionReader.time) { plan.revokeEvery = $0 }
        if self.faultHook == nil, self.faults != nil { reader.complain("--faults", "only with --fault-hook") }
        guard reader.problems.isEmpty else { throw PinLoadFailure(PlanError(reader.problems)) }
        plan.rest = min(plan.rest, load.schedule.duration / 4)
        plan.revoke = self.revokeWith.map { OperatorProgram($0) }
        guard let hook = self.faultHook.map({ OperatorProgram($0) }) else { return plan }
        plan.hook = hook
        do throws(OperatorProgram.Failure) {
            let names = if let faults = self.faults { faults } else { try await hook.run(["list"]) }
            plan.faults = names.split { $0 == "," || $0.isWhitespace }.map(String.init)
        } catch {
            throw PinLoadFailure(.usage, "--fault-hook: \(error)")
        }
        guard !plan.faults.isEmpty else { throw PinLoadFailure(.usage, "--fault-hook: it lists no fault") }
        return plan
    }
}
