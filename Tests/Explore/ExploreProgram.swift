internal import Foundation
internal import HostSystem
internal import PlayedCounterexamples

/// Explores the production server and store with one wallet through all interleavings within bounds.
@main
struct ExploreProgram {
    static func main() throws {
        var (names, options, isListed, scenario) = ([String](), [String](), false, String?.none)
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help", "-h": self.end(self.help, 0)
            case "--plans": self.end(Bounds.plans.map(\.name).joined(separator: "\n"), 0)
            case "--transitions": isListed = true
            case "--scenario":
                guard let file = arguments.popFirst() else { self.end("--scenario takes the name of a file", 2) }
                scenario = file
            case _ where argument.contains("="): options.append(argument)
            case _ where Bounds.plans.contains { $0.name == argument }: names.append(argument)
            default: self.end("neither a plan nor an option: \(argument); see explore --help", 2)
            }
        }
        var isSound = true
        for (name, plan) in Bounds.plans where names.isEmpty || names.contains(name) {
            var bounds = plan
            for option in options where !bounds.set(option) { self.end("not a bound: \(option)", 2) }
            guard bounds.policy != nil else { self.end("\(name): these bounds cannot be explored", 2) }
            if !(try self.explore(bounds, name: name, isListed: isListed, scenario: scenario)) { isSound = false }
        }
        exit(isSound ? 0 : 1)
    }

    /// Explores one plan and prints the result; returns false after a violation, or at the limit of states.
    ///
    /// - Parameter isListed: Prints the transitions of the wallet's row instead.
    private static func explore(_ bounds: Bounds, name: String, isListed: Bool, scenario: String?) throws -> Bool {
        let start = ContinuousClock.now
        let (report, transitions) = try self.search(bounds)
        let seconds = (ContinuousClock.now - start).components.seconds
        var lines = [
            "\(name): \(report.states) states, \(report.transitions) transitions, depth \(report.depth), \(seconds) s, "
                + "\(report.runs) runs of the server, \(report.stored) contents of the store; \(bounds.description)"
        ]
        if isListed { lines = transitions.map(\.description).sorted() }
        lines += report.trace.enumerated().map { "  \($0.offset + 1). \($0.element)" }
        if let violation = report.violation {
            lines.append("  violated: \(violation)")
            lines += try self.scenario(of: report, bounds, to: scenario)
        }
        if report.isIncomplete { lines.append("  the limit of \(Bounds.mostStates) states is reached") }
        // One write, because plans run side by side.
        self.say(lines.joined(separator: "\n"))
        return report.violation == nil && !report.isIncomplete
    }

    /// Explores within bounds; returns the result and the transitions of the wallet's row.
    private static func search(_ bounds: Bounds) throws -> (Exploration.Report, Set<RowTransition>) {
        let folder = FileManager.default.temporaryDirectory.path + "/explore-\(UInt64.random(in: .min ... .max))"
        try DurableFile.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let exploration = try Exploration(bounds, folder: folder, progress: Progress())
        return (try exploration.explore(), exploration.rowTransitions)
    }

    /// Writes a counterexample as a scenario file, or returns its lines if there is no file.
    ///
    /// If a lab cannot play the shortest counterexample, another search looks for the shortest one that it can play.
    private static func scenario(of report: Exploration.Report, _ bounds: Bounds, to file: String?) throws -> [String] {
        guard bounds.servers == 1 else { return ["  no scenario: a lab has one server"] }
        var (report, lines, bounds) = (report, [String](), bounds)
        if let obstacle = report.obstacle {
            lines.append("  a lab cannot play step \(obstacle + 1): \(report.trace[obstacle])")
            bounds.isPlayable = true
            report = try self.search(bounds).0
        }
        guard report.isVisible else { return ["  no scenario: neither the app nor the operator sees this violation"] }
        guard let steps = report.played, let violation = report.violation else {
            return lines + ["  no scenario: a lab can play no other counterexample within these bounds"]
        }
        let policy = CounterexampleScenario.Policy(
            rounds: Int(bounds.rounds),
            attempts: Int(bounds.attempts),
            block: Int(bounds.block)
        )
        let text = CounterexampleScenario.text(of: steps, under: policy, violated: violation)
        guard let file else { return lines + ["  as a scenario for `wallet run FILE`:", text] }
        try DurableFile.write(Array(text.utf8), to: file)
        return lines + ["  as a scenario: \(file), \(report.trace.count) steps, violated: \(violation)"]
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    private static func end(_ text: String, _ code: Int32) -> Never {
        self.say(text)
        exit(code)
    }

    private static var help: String {
        """
        usage: explore [--plans | --transitions | --scenario FILE] [PLAN ...] [BOUND=NUMBER ...]

        Runs the production server and store with one wallet through all interleavings of messages, store steps,
        crashes, lost answers, failovers, restores and clock steps within bounds. docs/proof.md lists the invariants.
        The first violation ends a plan's search and prints a shortest transcript; the exit status is then 1.
        If a lab can play the counterexample, a scenario for `wallet run` follows. Otherwise, the program names the
        first step that a lab cannot play and prints a scenario of the shortest counterexample that it can play.

        plans, all by default:
        \(Bounds.plans.map { "  \($0.name)\n      \($0.bounds.description)" }.joined(separator: "\n"))

        bounds: \(Bounds.names.joined(separator: ", ")),
          rule=strict|charge-one|trust (of a restore)

          explore attempts messages=5 sessions=3       one plan with larger bounds

        --plans          prints the names of the plans
        --transitions    prints the transitions of the wallet's row, to compare them with docs/model
        --scenario FILE  writes the scenario to this file instead of printing it
        """
    }
}
