internal import ConfigText
internal import HostSystem
internal import Phone
internal import Scenarios
internal import Synchronization

/// Prints results as they come in, and a counter if the output is a terminal.
final class ScenarioProgress: Sendable {
    private let count: Int
    private let writesResults: Bool
    private let showsCount: Bool
    private let done = Mutex(0)

    static var isColored: Bool { Terminal.isTerminal(1) && !Environment.has("NO_COLOR") }

    init(of count: Int, _ output: RunOutputOptions) {
        self.count = count
        self.writesResults = output.format == .text && output.output == nil
        self.showsCount = Terminal.isTerminal(2)
    }

    func add(_ result: ScenarioResult) {
        self.done.withLock { done in
            done += 1
            self.clear()
            if self.writesResults {
                StandardStreams.writeOutput(TextReport(isColored: Self.isColored).result(result))
            }
            if self.showsCount { StandardStreams.writeError("\(done) of \(self.count): \(result.caseID)") }
        }
    }

    /// Removes the counter.
    func end() { self.clear() }

    private func clear() {
        if self.showsCount { StandardStreams.writeError("\r\u{1B}[K") }
    }
}

/// Finds and reads the scenario files named on the command line.
enum ScenarioFiles {
    /// Reads all files.
    ///
    /// A single error lists the problems in all of them.
    static func read(_ files: [String]) throws -> [Scenario] {
        var scenarios: [Scenario] = []
        var problems: [String] = []
        for path in files {
            do {
                scenarios.append(try Scenario(file: path))
            } catch {
                problems.append("\(error)")
            }
        }
        guard problems.isEmpty else {
            throw RunFailure.usage("these scenarios cannot be played:\n" + problems.joined(separator: "\n"))
        }
        return scenarios
    }

    /// Returns the given files, and the scenarios in the given folders and their subfolders, sorted by name.
    ///
    /// In folders, `folder.yaml` and `*.steps.yaml` are skipped, because they only contain steps for other scenarios.
    /// Other YAML files that are no scenarios, such as those of a lab or a phone, are named in one line.
    static func files(_ paths: [String]) throws -> [String] {
        var (files, others): ([String], [String]) = ([], [])
        for path in paths {
            guard DurableFile.isFolder(path) else {
                files.append(path)
                continue
            }
            let found = Self.candidates(in: path)
            let scenarios = found.filter(Scenario.isScenario(contentsOf:))
            others += found.filter { !scenarios.contains($0) }
            guard !scenarios.isEmpty else {
                throw RunFailure.usage("\(TextLayout.harmlessLine(path)) contains no scenario files")
            }
            files += scenarios
        }
        if !others.isEmpty {
            let more = others.count > 3 ? " and \(others.count - 3) more" : ""
            let names = others.prefix(3).map(TextLayout.harmlessLine).joined(separator: ", ")
            StandardStreams.writeError("wallet: no scenario, passed over: \(names)\(more)\n")
        }
        return files
    }

    /// Returns the files in a folder and its subfolders that have the name of a scenario.
    ///
    /// Pipes are left out, because reading one may never return, and so are links to a folder above them.
    ///
    /// - Parameter folders: The folders above this one.
    static func candidates(in folder: String, below folders: [String] = []) -> [String] {
        guard !folders.contains(where: { DurableFile.isSame($0, as: folder) }) else { return [] }
        let names = ((try? DurableFile.names(in: folder)) ?? []).sorted().filter { !$0.hasPrefix(".") }
        let paths = names.map { folder.hasSuffix("/") ? "\(folder)\($0)" : "\(folder)/\($0)" }
        return paths.filter { Scenario.isScenario(file: $0) && DurableFile.isRegular($0) }
            + paths.filter { DurableFile.isFolder($0) }.flatMap { Self.candidates(in: $0, below: folders + [folder]) }
    }
}
