internal import Foundation
internal import HostSystem
package import SimulatedPhone

/// Runs scenarios concurrently and returns the results in the original order.
///
/// Each scenario gets a folder and, unless an existing server is used, a separate server. By the time
/// ``run(_:progress:)`` returns, all processes have ended and all files have been deleted, even if the run was
/// cancelled.
package struct ScenarioRunner: Sendable {
    private let target: ScenarioTarget
    private let jobs: Int
    private let keepsFolders: Bool
    private let parentFolder: String
    private let serverLogs: String?
    private let retries: Int
    private let failsFast: Bool
    private let updatesScreens: Bool
    private let pause: Pause?

    /// Called before a step, and after the last one.
    ///
    /// The scenario ends if it returns false.
    package typealias Pause = @Sendable (_ phone: Picture, _ place: Place) async -> Bool

    package enum Place: Sendable {
        case step(String)
        /// After the last step, with the result.
        case end(String)
    }

    /// Creates a runner.
    ///
    /// - Parameters:
    ///   - jobs: The number of scenarios to run concurrently, at least one.
    ///   - keepsFolders: Whether to keep the folders of labs and phones.
    ///   - parentFolder: The folder in which to create labs and phones. If nil, the system's temporary folder is used.
    ///   - serverLogs: An existing folder for the lab servers' logs, one JSON file per scenario at level debug.
    ///   - retries: How often to retry a scenario that fails.
    ///   - failsFast: Whether to stop starting scenarios after the first failure.
    ///   - updatesScreens: Whether `expect screen` writes its file instead of comparing it.
    ///   - pause: Called before each step and at the end of a scenario. If nil, the scenario runs without pauses.
    package init(
        _ target: ScenarioTarget,
        jobs: Int,
        keepsFolders: Bool = false,
        parentFolder: String? = nil,
        serverLogs: String? = nil,
        retries: Int = 0,
        failsFast: Bool = false,
        updatesScreens: Bool = false,
        pause: Pause? = nil
    ) {
        self.target = target
        self.jobs = max(1, jobs)
        self.keepsFolders = keepsFolders
        self.parentFolder = parentFolder ?? Self.temporaryFolder
        self.serverLogs = serverLogs
        self.retries = retries
        self.failsFast = failsFast
        self.updatesScreens = updatesScreens
        self.pause = pause
    }

    /// The number of active processors.
    package static var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

    /// Runs the scenarios.
    ///
    /// If the task is cancelled, the scenarios in play end and the remaining ones do not start; both are skipped.
    ///
    /// - Parameter progress: Called with the index and result of each scenario as soon as it ends.
    package func run(
        _ scenarios: [Scenario],
        progress: @escaping @Sendable (Int, ScenarioResult) -> Void = { _, _ in }
    ) async -> [ScenarioResult] {
        let folder = "\(self.parentFolder)/rp-\(String(UInt32.random(in: .min ... .max), radix: 36))"
        let logNames = Self.logNames(of: scenarios)
        var results: [Int: ScenarioResult] = [:]
        await withTaskGroup(of: (Int, ScenarioResult).self) { group in
            var waiting = Array(scenarios.enumerated())[...]
            func startNext() {
                guard let (index, scenario) = waiting.popFirst() else { return }
                group.addTask {
                    (index, await self.play(scenario, folder: "\(folder)/\(index + 1)", log: logNames[index]))
                }
            }
            for _ in 0..<self.jobs { startNext() }
            for await (index, result) in group {
                results[index] = result
                progress(index, result)
                if self.failsFast, result.hasFailed {
                    // List them as skipped, so that the report still shows every scenario.
                    for (index, scenario) in waiting {
                        let result = ScenarioResult(scenario, .skipped(Self.notPlayed))
                        results[index] = result
                        progress(index, result)
                    }
                    waiting = []
                }
                startNext()
            }
        }
        if !self.keepsFolders { try? FileManager.default.removeItem(atPath: folder) }
        return scenarios.indices.compactMap { results[$0] }
    }

    /// The reason why scenarios are skipped after the first failure.
    static let notPlayed = "another scenario failed, and --fail-fast is set"

    /// The reason why scenarios are skipped that were in play or waiting when the run was interrupted.
    static let interrupted = "the run was interrupted"

    /// Runs a scenario until it passes or there are no attempts left.
    ///
    /// Each attempt uses a new lab and new phones.
    private func play(_ scenario: Scenario, folder: String, log: String) async -> ScenarioResult {
        var result = await self.attempt(scenario, folder: folder, log: log, number: 1)
        while case .failed(let failure) = result.outcome, result.earlierFailures.count < self.retries {
            let failures = result.earlierFailures + [failure]
            let number = failures.count + 1
            let next = await self.attempt(scenario, folder: "\(folder)-\(number)", log: log, number: number)
            // An interrupted attempt does not disprove a failure.
            if case .skipped = next.outcome { break }
            result = next
            result.earlierFailures = failures
        }
        return result
    }

    private func attempt(_ scenario: Scenario, folder: String, log: String, number: Int) async -> ScenarioResult {
        let start = ContinuousClock.now
        let lab = self.lab(scenario, folder, log: number > 1 ? "\(log)-attempt\(number)" : log)
        // A user who takes the steps needs as much time as they like.
        let limit = self.pause == nil ? scenario.timeLimit : .seconds(86_400)
        var result = await Self.cancelled(at: start + limit) {
            await withTaskCancellationHandler {
                await self.played(scenario, folder, lab, until: start + limit)
            } onCancel: {
                lab?.shutDown()
            }
        }
        await lab?.ended()
        result.duration = ContinuousClock.now - start
        result.steps.assign(log: lab?.log ?? "")
        if self.keepsFolders {
            result.folder = folder
            if let lab { try? DurableFile.write(Array(lab.log.utf8), to: "\(folder)/server.log") }
        } else {
            try? FileManager.default.removeItem(atPath: folder)
        }
        return result
    }

    /// Returns the result of a task that is cancelled at a point in time if it has not ended by then.
    private static func cancelled<Result: Sendable>(
        at deadline: ContinuousClock.Instant,
        _ run: @escaping @Sendable () async -> Result
    ) async -> Result {
        await withTaskGroup(of: Result?.self) { group in
            group.addTask { await run() }
            group.addTask {
                try? await Task.sleep(until: deadline)
                return nil
            }
            while let result = await group.next() {
                group.cancelAll()
                if let result { return result }
            }
            preconditionFailure("a task of the group has a result")
        }
    }

    private func played(
        _ scenario: Scenario,
        _ folder: String,
        _ lab: LabServer?,
        until deadline: ContinuousClock.Instant
    ) async -> ScenarioResult {
        var result = ScenarioResult(scenario, .passed)
        do throws(StepProblem) {
            guard !Task.isCancelled else { throw .unsupported(Self.interrupted) }
            try mapError(DurableFile.makeFolder(folder)) { (error: FileError) in
                StepProblem.failed("\(folder) cannot be created: \(error.reason)")
            }
            let world = try await World.make(self.target, scenario, folder: folder, lab: lab)
            let play = try ScenarioRun(
                scenario,
                in: world,
                folder: folder,
                until: deadline,
                updatesScreens: self.updatesScreens,
                pause: self.pause
            )
            result.outcome = await play.run()
            await play.end()
            result.stepsDone = play.stepsDone
            result.steps = play.records
            result.skips = play.skips
            result.reached = play.reached
        } catch {
            switch ContinuousClock.now < deadline ? error : .outOfTime(scenario) {
            case .failed(let message, let differences):
                let failure = ScenarioResult.Failure(
                    line: 0,
                    step: "before the first step",
                    message: message,
                    differences: differences
                ).harmless
                let isInterrupted = Task.isCancelled && ContinuousClock.now < deadline
                result.outcome = isInterrupted ? .skipped(Self.interrupted) : .failed(failure)
            case .unsupported(let reason), .unobservable(let reason): result.outcome = .skipped(reason)
            }
        }
        return result
    }

    /// Returns the name of each scenario's server log, without its extension.
    ///
    /// Scenarios of one test case are numbered, so that none of them writes to the log of another.
    private static func logNames(of scenarios: [Scenario]) -> [String] {
        var used: Set<String> = []
        return scenarios.map { scenario in
            let name = scenario.repetition.map { "\(scenario.caseID)-\($0)" } ?? scenario.caseID
            var (unused, number) = (name, 1)
            while !used.insert(unused).inserted {
                number += 1
                unused = "\(name)-\(number)"
            }
            return unused
        }
    }

    private func lab(_ scenario: Scenario, _ folder: String, log name: String) -> LabServer? {
        switch self.target {
        case .ownLabs(let binary):
            LabServer(
                folder: folder,
                binary: binary,
                settings: scenario.server,
                logFile: self.serverLogs.map { "\($0)/\(name).log" }
            )
        case .server: nil
        }
    }

    /// The system's temporary folder, or `/tmp` if socket paths in it would be too long.
    private static var temporaryFolder: String {
        let folder = FileManager.default.temporaryDirectory.path
        return folder.utf8.count <= 60 ? folder : "/tmp"
    }
}

/// Determines the order in which scenarios run, and how often.
package enum ScenarioOrder {
    /// Returns all scenarios `count` times, one complete round after the other.
    package static func repeated(_ scenarios: [Scenario], _ count: Int) -> [Scenario] {
        (1...max(1, count)).flatMap { number in
            scenarios.map { scenario in
                var scenario = scenario
                if count > 1 { scenario.repetition = number }
                return scenario
            }
        }
    }

    /// Returns every `count`-th scenario, starting with the `number`-th.
    ///
    /// Each scenario is in exactly one of the `count` shards, and the same scenarios give the same shards.
    ///
    /// - Parameter number: The shard, in `1...count`.
    package static func shard(_ number: Int, of count: Int, _ scenarios: [Scenario]) -> [Scenario] {
        stride(from: number - 1, to: scenarios.count, by: count).map { scenarios[$0] }
    }

    /// Shuffles the scenarios.
    ///
    /// The same seed always gives the same order.
    package static func shuffled(_ scenarios: [Scenario], seed: UInt64) -> [Scenario] {
        var generator = SplitMix64(state: seed)
        return scenarios.shuffled(using: &generator)
    }

    private struct SplitMix64: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = self.state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
