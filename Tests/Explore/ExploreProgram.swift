internal import Foundation
internal import HostSystem

/// Explores the production server and store with one wallet through all interleavings within bounds.
@main
struct ExploreProgram {
    static func main() throws {
        var (names, options, isListed) = ([String](), [String](), false)
        for argument in CommandLine.arguments.dropFirst() {
            switch argument {
            case "--help", "-h": self.end(self.help, 0)
            case "--plans": self.end(Bounds.plans.map(\.name).joined(separator: "\n"), 0)
            case "--transitions": isListed = true
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
            if !(try self.explore(bounds, name: name, isListed: isListed)) { isSound = false }
        }
        exit(isSound ? 0 : 1)
    }

    /// Explores one plan and prints the result; returns false after a violation, or at the limit of states.
    ///
    /// - Parameter isListed: Prints the transitions of the wallet's row instead.
    private static func explore(_ bounds: Bounds, name: String, isListed: Bool) throws -> Bool {
        let folder = FileManager.default.temporaryDirectory.path + "/explore-\(UInt64.random(in: .min ... .max))"
        try DurableFile.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let start = ContinuousClock.now
        let exploration = try Exploration(bounds, folder: folder, progress: Progress())
        let report = try exploration.explore()
        let seconds = (ContinuousClock.now - start).components.seconds
        var lines = [
            "\(name): \(report.states) states, \(report.transitions) transitions, depth \(report.depth), \(seconds) s, "
                + "\(report.runs) runs of the server, \(report.stored) contents of the store; \(bounds.description)"
        ]
        if isListed { lines = exploration.rowTransitions.map(\.description).sorted() }
        lines += report.trace.enumerated().map { "  \($0.offset + 1). \($0.element)" }
        if let violation = report.violation { lines.append("  violated: \(violation)") }
        if report.isIncomplete { lines.append("  the limit of \(Bounds.mostStates) states is reached") }
        // One write, because plans run side by side.
        self.say(lines.joined(separator: "\n"))
        return report.violation == nil && !report.isIncomplete
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    private static func end(_ text: String, _ code: Int32) -> Never {
        self.say(text)
        exit(code)
    }

    private static var help: String {
        """
        usage: explore [--plans | --transitions] [PLAN ...] [BOUND=NUMBER ...]

        Runs the production server and store with one wallet through all interleavings of messages, store steps,
        crashes, lost answers, failovers, restores and clock steps within bounds. docs/proof.md lists the invariants.
        The first violation ends a plan's search and prints a shortest transcript; the exit status is then 1.

        plans, all by default:
        \(Bounds.plans.map { "  \($0.name)\n      \($0.bounds.description)" }.joined(separator: "\n"))

        bounds: \(Bounds.names.joined(separator: ", ")),
          rule=strict|charge-one|trust (of a restore)

          explore attempts messages=5 sessions=3       one plan with larger bounds

        --plans        prints the names of the plans
        --transitions  prints the transitions of the wallet's row, to compare them with docs/model
        """
    }
}
