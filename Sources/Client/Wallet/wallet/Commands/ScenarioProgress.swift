internal import ConfigText
internal import HostSystem
internal import Phone
internal import Scenarios
internal import Synchronization

/// Results as they come: a line for each, and on a terminal how far the run is.
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

    func hear(_ result: ScenarioResult) {
        self.done.withLock { done in
            done += 1
            self.clear()
            if self.writesResults {
                StandardStreams.writeOutput(TextReport(isColored: Self.isColored).result(result))
            }
            if self.showsCount { StandardStreams.writeError("\(done) of \(self.count): \(result.caseID)") }
        }
    }

    /// The line of progress goes.
    func end() { self.clear() }

    private func clear() {
        if self.showsCount { StandardStreams.writeError("\r\u{1B}[K") }
    }
}

/// The scenario files that a command line names.
enum ScenarioFiles {
    /// Reads them all; everything that is wrong with any of them is told at once.
    static func read(_ paths: [String], filter: String?) throws(RunFailure) -> [Scenario] {
        var scenarios: [Scenario] = []
        var problems: [String] = []
        for path in try Self.files(paths) {
            do throws(ConfigError) {
                scenarios.append(try Scenario(file: path))
            } catch {
                problems.append(error.description)
            }
        }
        guard problems.isEmpty else {
            throw .usage("these scenarios cannot be played:\n" + problems.joined(separator: "\n"))
        }
        guard let filter else { return scenarios }
        let chosen = scenarios.filter { [$0.caseID, $0.title, $0.path].contains { $0.contains(filter) } }
        guard !chosen.isEmpty else { throw .usage("no scenario's case, title or path contains `\(filter)`") }
        return chosen
    }

    /// The files, and the YAML files of the folders, in the order of their names.
    private static func files(_ paths: [String]) throws(RunFailure) -> [String] {
        var files: [String] = []
        for path in paths {
            guard DurableFile.isFolder(path) else {
                files.append(path)
                continue
            }
            let names = ((try? DurableFile.names(in: path)) ?? []).filter {
                $0.hasSuffix(".yaml") || $0.hasSuffix(".yml")
            }
            guard !names.isEmpty else { throw .usage("\(path) has no scenario files") }
            files += names.sorted().map { path.hasSuffix("/") ? "\(path)\($0)" : "\(path)/\($0)" }
        }
        return files
    }
}
