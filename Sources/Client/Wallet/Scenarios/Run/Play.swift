internal import DeviceInterface
internal import Phone
internal import Vocabulary
internal import WalletCore
internal import WalletFlows

/// One scenario being played: its phones, what was named on the way, and where it stands.
///
/// Used by one task alone.
final class Play {
    let scenario: Scenario
    let world: World
    /// Where the phones' homes lie.
    let folder: String
    private(set) var phones: [String: HeldPhone] = [:]
    private(set) var present: HeldPhone
    /// Values of screens by the names that the scenario gave them.
    var kept: [String: String] = [:]
    private(set) var skips: [ScenarioResult.Skip] = []
    private(set) var stepsDone = 0

    /// The name of the phone that is there from the beginning.
    static let firstPhone = "first"

    init(_ scenario: Scenario, in world: World, folder: String) throws(StepProblem) {
        self.scenario = scenario
        self.world = world
        self.folder = folder
        self.present = try Self.makePhone(Self.firstPhone, scenario.device, world, folder)
        self.phones[Self.firstPhone] = self.present
    }

    /// Every step, until one is not as expected.
    func run() async -> ScenarioResult.Outcome {
        for step in self.scenario.steps {
            do throws(StepProblem) {
                if Task.isCancelled { throw .impossible("the run was interrupted") }
                try await self.take(step.action)
                self.stepsDone += 1
            } catch {
                switch error {
                case .failed(let message, let differences):
                    return .failed(await self.failure(step, message, differences))
                case .impossible(let reason):
                    return .skipped("line \(step.line), \(step.text): \(reason)")
                case .unseen(let reason):
                    self.skips.append(.init(line: step.line, step: step.text, reason: reason))
                }
            }
        }
        return .passed
    }

    /// Lets go of every app, so that nothing of it is under way any more.
    func end() async {
        for phone in self.phones.values { await phone.phone.endProcess() }
    }

    /// Every step of the flows that any of the phones took, in the order of the phones' names.
    var reached: [String] {
        var steps: [String] = []
        var known: Set<String> = []
        for (_, phone) in self.phones.sorted(by: { $0.key < $1.key }) {
            for step in phone.ear.reached where known.insert(step).inserted { steps.append(step) }
        }
        return steps
    }

    /// Goes on with the phone of this name; makes it where there is none.
    func hold(_ name: String, _ device: DeviceChange) throws(StepProblem) {
        if let phone = self.phones[name] {
            guard device.isEmpty else { throw .failed("there is a phone \(name) already; change it with `device`") }
            self.present = phone
        } else {
            self.present = try Self.makePhone(name, device, self.world, self.folder)
            self.phones[name] = self.present
        }
    }

    /// A text with the values of `keep` in the place of their names.
    func filled(_ text: String) throws(StepProblem) -> String {
        guard text.contains("${") else { return text }
        var text = text
        for (name, value) in self.kept {
            text = text.split(separator: "${\(name)}", omittingEmptySubsequences: false).joined(separator: value)
        }
        guard !text.contains("${") else {
            let names = self.kept.keys.sorted().joined(separator: ", ")
            throw .failed("nothing is named so in `\(text)`; there is \(names.isEmpty ? "no name yet" : names)")
        }
        return text
    }

    private static func makePhone(
        _ name: String,
        _ device: DeviceChange,
        _ world: World,
        _ folder: String
    ) throws(StepProblem) -> HeldPhone {
        do {
            let profile = try device.newProfile()
            return try HeldPhone(name, folder: folder, settings: world.settings, profile: profile)
        } catch {
            throw .failed("the phone cannot be made: \(error)")
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
            screen: await self.present.phone.screen.lines,
            trace: self.present.ear.trace,
            log: self.logLines()
        )
    }

    /// The last lines of the server's log that are about the present wallet, or that warn.
    private func logLines() -> [String] {
        guard let log = self.world.lab?.log else { return [] }
        let id = self.present.walletID?.description
        let lines = log.split(separator: "\n").map(String.init).filter { line in
            id.map(line.contains) ?? false || line.contains(" warning ") || line.contains(" error ")
        }
        return lines.suffix(20).map { $0.count <= 240 ? $0 : "\($0.prefix(239))…" }
    }
}

extension Screen {
    /// The screen for a report, a line for each thing on it.
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
    /// As a scenario writes it.
    var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .truth(let truth): "\(truth)"
        }
    }
}
