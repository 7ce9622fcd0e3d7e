import ArgumentParser
internal import LoadEngine
internal import LoadPlan

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

    /// Builds the plan.
    ///
    /// Asks the hook which faults it supports.
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
