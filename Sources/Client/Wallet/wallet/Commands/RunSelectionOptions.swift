import ArgumentParser
internal import ConfigText
internal import Scenarios

/// The options that select scenarios and determine their order and repetitions.
struct RunSelectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only scenarios whose case, title or path contains this text.", valueName: "text"))
    var filter: String?

    @Option(
        name: .customLong("tag"),
        help: ArgumentHelp("Only scenarios with this tag; repeatable.", valueName: "name")
    )
    var tags: [String] = []

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp("Play each scenario this many times, to find flaky ones.", valueName: "n")
    )
    var count: Int?

    @Option(
        name: .customLong("shuffle"),
        help: ArgumentHelp("Play in the random order of this number; the same number repeats it.", valueName: "seed")
    )
    var seed: UInt64?

    @Option(help: ArgumentHelp("Play a failed scenario again, and report it as flaky if it passes.", valueName: "n"))
    var retries: Int = 0

    @Flag(help: "Start no further scenario after a failure.")
    var failFast = false

    func validate() throws {
        if let count, !(1...10_000).contains(count) { throw ValidationError("--repeat must be 1 to 10000.") }
        guard (0...100).contains(self.retries) else { throw ValidationError("--retries must be 0 to 100.") }
    }

    /// Returns the selected scenarios in the order in which to run them.
    ///
    /// - Throws: An error if no scenario is selected, because an empty run would pass.
    func scenarios(of all: [Scenario]) throws -> [Scenario] {
        let chosen = try self.tagged(all).filter { scenario in
            guard let filter else { return true }
            return [scenario.caseID, scenario.title, scenario.path].contains { $0.contains(filter) }
        }
        guard !chosen.isEmpty else {
            let tags = self.tags.isEmpty ? "" : " with \(self.tags.map { "the tag `\($0)`" }.joined(separator: " or "))"
            let text = self.filter.map { "'s case, title or path contains `\($0)`" } ?? " is selected"
            throw RunFailure.usage("no scenario\(tags)\(text)")
        }
        let repeated = ScenarioOrder.repeated(chosen, self.count ?? 1)
        return self.seed.map { ScenarioOrder.shuffled(repeated, seed: $0) } ?? repeated
    }

    private func tagged(_ all: [Scenario]) throws -> [Scenario] {
        guard !self.tags.isEmpty else { return all }
        let known = Set(all.flatMap(\.tags))
        for tag in self.tags where !known.contains(tag) {
            let hint = NearestName.hint(for: tag, among: known.sorted())
            throw RunFailure.usage("no scenario has the tag `\(tag)`\(hint)")
        }
        return all.filter { !Set($0.tags).isDisjoint(with: self.tags) }
    }
}

/// The output of `wallet run --list`.
enum ScenarioList {
    /// Returns a line for each scenario with its test case, tags, title and file.
    static func text(_ scenarios: [Scenario]) -> String {
        let rows = scenarios.map { ($0.caseID, $0.tags.joined(separator: ","), $0.title, $0.path) }
        let widths = [rows.map(\.0.count), rows.map(\.1.count), rows.map(\.2.count)].map { $0.max() ?? 0 }
        return rows.map { row in
            let columns = zip([row.0, row.1, row.2], widths).filter { $1 > 0 }.map { TextLayout.padded($0, $1) }
            return (columns + [row.3]).joined(separator: "  ") + "\n"
        }.joined()
    }
}
