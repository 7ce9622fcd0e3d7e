import ArgumentParser
internal import ConfigText
internal import HostSystem
internal import Phone
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
        name: .customLong("skip-tag"),
        help: ArgumentHelp("No scenario with this tag; repeatable.", valueName: "name")
    )
    var skippedTags: [String] = []

    @Option(
        help: ArgumentHelp("Only scenarios that failed in the run that wrote this JSON report.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var lastFailed: String?

    @Option(help: ArgumentHelp("Only the I-th of N parts, each of which has other scenarios.", valueName: "i/n"))
    var shard: Shard?

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
        try PathArgument.check([self.lastFailed])
        if let count, !(1...10_000).contains(count) { throw ValidationError("--repeat must be 1 to 10000.") }
        guard (0...100).contains(self.retries) else { throw ValidationError("--retries must be 0 to 100.") }
    }

    /// Returns the selected scenarios in the order in which to run them.
    ///
    /// - Throws: An error if no scenario is selected, because an empty run would pass.
    func scenarios(of all: [Scenario]) throws -> [Scenario] {
        var chosen = try self.failed(self.tagged(all)).filter { scenario in
            guard let filter else { return true }
            return [scenario.caseID, scenario.title, scenario.path].contains { $0.contains(filter) }
        }
        guard !chosen.isEmpty else {
            let tags = self.tags.isEmpty ? "" : " with \(self.tags.map { "the tag `\($0)`" }.joined(separator: " or "))"
            let text = self.filter.map { "'s case, title or path contains `\($0)`" } ?? " is selected"
            throw RunFailure.usage("no scenario\(tags)\(text)")
        }
        if let shard {
            guard shard.number <= chosen.count else {
                throw RunFailure.usage(
                    "the shard \(shard) is empty; the number of selected scenarios is \(chosen.count)"
                )
            }
            chosen = ScenarioOrder.shard(shard.number, of: shard.count, chosen)
        }
        let repeated = ScenarioOrder.repeated(chosen, self.count ?? 1)
        return self.seed.map { ScenarioOrder.shuffled(repeated, seed: $0) } ?? repeated
    }

    private func tagged(_ all: [Scenario]) throws -> [Scenario] {
        let known = Set(all.flatMap(\.tags))
        for tag in self.tags + self.skippedTags where !known.contains(tag) {
            let hint = NearestName.hint(for: tag, among: known.sorted())
            throw RunFailure.usage("no scenario has the tag `\(tag)`\(hint)")
        }
        return all.filter { scenario in
            let tags = Set(scenario.tags)
            return (self.tags.isEmpty || !tags.isDisjoint(with: self.tags)) && tags.isDisjoint(with: self.skippedTags)
        }
    }

    private func failed(_ all: [Scenario]) throws -> [Scenario] {
        guard let lastFailed else { return all }
        let text = try mapError(DurableFile.readText(lastFailed, atMost: 1 << 28)) { (error: FileError) in
            RunFailure.usage("\(error)")
        }
        guard let files = JSONReport.failedFiles(in: text) else {
            throw RunFailure.usage("\(lastFailed) is not a report of `wallet run --json --output FILE`")
        }
        guard !files.isEmpty else { throw RunFailure.usage("no scenario failed in the run of \(lastFailed)") }
        let failed = Set(files.map(Environment.absolute))
        let failures = all.filter { failed.contains(Environment.absolute(TextLayout.harmlessLine($0.path))) }
        guard !failures.isEmpty else {
            let list = files.joined(separator: ", ")
            throw RunFailure.usage("none of these scenarios failed in the run of \(lastFailed); it lists \(list)")
        }
        return failures
    }
}

/// The value of `--shard`: a part of the selected scenarios, such as `2/4`.
struct Shard: ExpressibleByArgument, CustomStringConvertible {
    let number: Int
    let count: Int

    init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], count >= 1, (1...count).contains(number)
        else { return nil }
        (self.number, self.count) = (number, count)
    }

    var description: String { "\(self.number)/\(self.count)" }
}

/// The output of `wallet run --list`.
enum ScenarioList {
    /// Returns a line for each scenario with its test case, tags, title and file.
    static func text(_ scenarios: [Scenario]) -> String {
        let rows = scenarios.map { ($0.caseID, $0.tags.joined(separator: ","), $0.title, $0.path) }
        let widths = [rows.map(\.0.count), rows.map(\.1.count), rows.map(\.2.count)].map { $0.max() ?? 0 }
        return rows.map { row in
            let columns = zip([row.0, row.1, row.2], widths).filter { $1 > 0 }.map { TextLayout.padded($0, $1) }
            return (columns + [TextLayout.harmlessLine(row.3)]).joined(separator: "  ") + "\n"
        }.joined()
    }
}
