internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary
internal import WalletFlows

/// A scenario in progress, with its phones, named values and results so far.
///
/// Not thread-safe: it must only be used by one task.
final class ScenarioRun {
    let scenario: Scenario
    let world: World
    /// The folder that contains the phones' homes.
    let folder: String
    private(set) var phones: [String: ScenarioPhone] = [:]
    private(set) var current: ScenarioPhone
    /// Screen values stored by `keep`.
    var kept: [String: String] = [:]
    private(set) var skips: [ScenarioResult.Skip] = []
    private(set) var stepsDone = 0
    private let pause: ScenarioRunner.Pause?
    /// The time at which the scenario's time limit expires.
    private let deadline: ContinuousClock.Instant
    /// Whether `expect screen` writes its file instead of comparing it.
    let updatesScreens: Bool
    /// True once the user has ended the scenario between two steps.
    private var isEnded = false
    private(set) var records: [StepRecord] = []
    /// The error from the last action that the app refused.
    var latestRefusal: PhoneError?

    static let firstPhone = "first"

    init(
        _ scenario: Scenario,
        in world: World,
        folder: String,
        until deadline: ContinuousClock.Instant,
        updatesScreens: Bool = false,
        onPhone home: PhoneHome? = nil,
        pause: ScenarioRunner.Pause? = nil
    ) throws(StepProblem) {
        self.scenario = scenario
        self.world = world
        self.folder = folder
        self.deadline = deadline
        self.updatesScreens = updatesScreens
        self.pause = pause
        self.current = try Self.makePhone(Self.firstPhone, in: home, scenario.device, world, folder)
        self.phones[Self.firstPhone] = self.current
    }

    /// Executes the steps until one fails, then the tear-down steps.
    func run() async -> ScenarioResult.Outcome {
        let outcome = await self.play(self.scenario.steps)
        let end = await self.play(self.scenario.tearDown)
        // The first failure is reported. A skipped scenario stays skipped even if its tear-down succeeds.
        let result = outcome == .passed ? end : outcome
        let judged = result.judged(self.scenario.knownFailure)
        if !self.isEnded { _ = await self.pause?(self.current.currentPicture(), .end(judged.summary)) }
        return judged
    }

    private func play(_ steps: [Step]) async -> ScenarioResult.Outcome {
        for step in steps {
            let next = "line \(step.line): \(step.text)"
            if let pause, !self.isEnded, await !pause(self.current.currentPicture(), .step(next)) {
                self.isEnded = true
                return .skipped("it was ended before line \(step.line)")
            }
            let start = (clock: ContinuousClock.now, milliseconds: LogTime.now)
            let problem = await self.problem(in: step)
            await self.record(step, problem, since: start)
            switch problem {
            case .some(.failed(let message, let differences)):
                return .failed(await self.failure(step, message, differences))
            case .some(.unsupported(let reason)):
                return .skipped("line \(step.line), \(step.text): \(reason)")
            case .some(.unobservable(let reason)):
                self.skips.append(.init(line: step.line, step: step.text, reason: reason))
            case .none: self.stepsDone += 1
            }
        }
        do throws(StepProblem) {
            for (_, phone) in self.phones.sorted(by: { $0.key < $1.key }) {
                try phone.checkCrash()
                try phone.checkConditions()
            }
        } catch {
            guard case .failed(let message, let differences) = error else { return .passed }
            let end = Step(line: 0, text: "the end of the scenario", action: .expectTrace(.contains([])))
            return .failed(await self.failure(end, message, differences))
        }
        return .passed
    }

    /// Executes a step; returns the problem if it failed or could not be executed.
    private func problem(in step: Step) async -> StepProblem? {
        let problem = await self.problem(taking: step)
        // A step that was in progress at that time was cancelled, so its own error is only a consequence.
        return ContinuousClock.now < self.deadline ? problem : .outOfTime(self.scenario)
    }

    private func problem(taking step: Step) async -> StepProblem? {
        do throws(StepProblem) {
            if Task.isCancelled { throw .unsupported(ScenarioRunner.interrupted) }
            try await self.take(step.action)
            if step.action.usesApp { try self.checkCrash() }
            return nil
        } catch .failed where Task.isCancelled {
            // The interruption ended the server, so the failure says nothing about the wallet.
            return .unsupported(ScenarioRunner.interrupted)
        } catch {
            return error
        }
    }

    private func record(
        _ step: Step,
        _ problem: StepProblem?,
        since start: (clock: ContinuousClock.Instant, milliseconds: Int64)
    ) async {
        let outcome: StepRecord.Outcome =
            switch problem {
            case .some(.failed): .failed
            case .some(.unsupported(let reason)), .some(.unobservable(let reason)): .skipped(reason)
            case .none: .done
            }
        let duration = ContinuousClock.now - start.clock
        var trace: [String] = []
        for (_, phone) in self.phones.sorted(by: { $0.key < $1.key }) { trace += phone.recorder.takeStepsOfStep() }
        self.records.append(
            StepRecord(
                line: step.line,
                text: step.text,
                outcome: outcome,
                duration: duration,
                phone: self.current.name,
                picture: await self.current.currentPicture(),
                trace: trace,
                startMilliseconds: start.milliseconds
            )
        )
    }

    /// Throws if a planned crash did not happen in the next step that uses the app.
    private func checkCrash() throws(StepProblem) {
        guard let (number, writes) = self.current.process.plannedCrash else { return }
        throw .failed(
            "the app was not killed: `kill app` names write \(number), and this step makes \(writes)",
            [.init(what: "writes", expected: "\(number) or more", seen: "\(writes)")]
        )
    }

    /// Terminates the app on every phone.
    func end() async {
        for phone in self.phones.values { await phone.phone.endProcess() }
    }

    /// The flow steps taken on any phone, ordered by phone name.
    var reached: [String] {
        var steps: [String] = []
        var known: Set<String> = []
        for (_, phone) in self.phones.sorted(by: { $0.key < $1.key }) {
            for step in phone.recorder.reached where known.insert(step).inserted { steps.append(step) }
        }
        return steps
    }

    /// Switches to the named phone, creating it if it does not exist.
    func switchPhone(to name: String, _ device: DeviceChange) throws(StepProblem) {
        if let phone = self.phones[name] {
            guard device.isEmpty else { throw .failed("the phone \(name) exists already; change it with `device`") }
            self.current = phone
        } else {
            try self.checkIsNew(name)
            self.current = try Self.makePhone(name, device, self.world, self.folder)
            self.phones[name] = self.current
        }
    }

    /// Throws if a phone has this name, or the lab, whose files are in the same folder.
    func checkIsNew(_ name: String) throws(StepProblem) {
        guard self.phones[name] == nil else { throw .failed("the phone \(name) exists already") }
        guard !DurableFile.exists("\(self.folder)/\(name)") else {
            throw .failed(LabServer.refusal(of: name))
        }
    }

    /// Adds a phone whose folder has been copied.
    func addCopy(_ name: String) throws(StepProblem) {
        self.phones[name] = try Self.makePhone(name, DeviceChange(nil), self.world, self.folder)
    }

    /// Replaces the names stored by `keep` with their values.
    func filled(_ text: String) throws(StepProblem) -> String {
        var filled = ""
        var rest = text[...]
        while let match = rest.firstMatch(of: /\$\{([^}]*)\}?/) {
            guard let value = match.1 == "$" ? "$" : self.kept[String(match.1)] else {
                let names = self.kept.keys.sorted().joined(separator: ", ")
                throw .failed("unknown name in `\(text)`; known names: \(names.isEmpty ? "none" : names)")
            }
            filled += rest[..<match.range.lowerBound] + value
            rest = rest[match.range.upperBound...]
        }
        return filled + rest
    }

    private static func makePhone(
        _ name: String,
        in home: PhoneHome? = nil,
        _ device: DeviceChange,
        _ world: World,
        _ folder: String
    ) throws(StepProblem) -> ScenarioPhone {
        do {
            return try ScenarioPhone(name, in: home, folder: folder, world: world, profile: device.newProfile)
        } catch {
            throw .failed("the phone cannot be created: \(error)")
        }
    }

    private func failure(
        _ step: Step,
        _ message: String,
        _ differences: [ScenarioResult.Difference]
    ) async -> ScenarioResult.Failure {
        ScenarioResult.Failure(
            line: step.line,
            step: step.text,
            message: message,
            differences: differences,
            screen: await self.current.phone.screen.lines,
            trace: self.current.recorder.trace,
            log: self.logLines()
        ).harmless
    }

    /// Returns the last server log lines that are about the current wallet, or are warnings or errors.
    private func logLines() -> [String] {
        guard let log = self.world.lab?.log else { return [] }
        let id = self.current.walletID?.description
        let lines = log.split(separator: "\n").map(String.init).filter { line in
            id.map(line.contains) ?? false || line.contains(" warning ") || line.contains(" error ")
        }
        return lines.suffix(20).map { $0.count <= 240 ? $0 : "\($0.prefix(239))…" }
    }
}

extension Screen {
    /// The screen text for a report, one line per element.
    var lines: [String] {
        guard !self.step.isEmpty else { return ["no app is running"] }
        var lines = ["\(self.step) (\(self.kind.rawValue)) \(self.title)"]
        if !self.message.isEmpty { lines.append(self.message) }
        for (name, value) in self.values.sorted(by: { $0.key < $1.key }) { lines.append("\(name): \(value.text)") }
        if !self.inputs.isEmpty { lines.append("asks for: \(self.inputs.map(\.id).joined(separator: ", "))") }
        lines.append("offers: \(self.actions.map(\.id.rawValue).joined(separator: ", "))")
        return lines
    }
}

extension Screen.Value {
    /// The value as text, as used in a scenario.
    var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .truth(let truth): "\(truth)"
        }
    }
}
