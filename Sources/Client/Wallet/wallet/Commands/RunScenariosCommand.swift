import ArgumentParser
internal import ConfigText
internal import HostSystem
internal import SimulatedPhone
internal import Scenarios
internal import Synchronization
internal import UnixSignals

struct RunScenariosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Play scenarios against a real server and report deviations.",
        discussion: """
            A scenario is a YAML file with the properties of a phone, actions and expectations. docs/testing-guide.md \
            introduces scenarios in five minutes.

            EXAMPLES

              wallet run Tests/Scenarios                # a folder, each with its own lab
              wallet run LTC46.yaml --keep              # keep the lab and the phone
              wallet run --check *.yaml                 # only check the files
              wallet run . --format junit --output report.xml
              wallet run . --report html report         # every screen, for a browser
              wallet run . --tag smoke --fail-fast      # stop at the first failure
              wallet run . --filter LTC46 --repeat 20   # does it pass each time?
              wallet run . --shard 1/4 --skip-tag slow  # a quarter of the others
              wallet run . --json --output report.json  # then only what failed:
              wallet run . --last-failed report.json
              wallet run LTC46.yaml --watch             # play again after each save
              wallet run . --update                     # write `expect screen` files
              wallet run LTC46.yaml --step              # wait before each step

            EXIT CODES

                0  all expectations were met, except in known failures
                1  an expectation was not met, or a known failure passed
               64  invalid file or option
               69  the server cannot be reached or started
               70  the output cannot be written, or nothing has read it for a minute
              130  interrupted; the report has the scenarios that were finished
            """
    )

    @Argument(
        help: ArgumentHelp("Scenario files, or folders of them.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String] = []

    @OptionGroup(title: "Server")
    var target: RunTargetOptions

    @OptionGroup(title: "Selection")
    var selection: RunSelectionOptions

    @Flag(help: "List the selected scenarios with their tags.")
    var list = false

    @Flag(help: "Only check the files.")
    var check = false

    @Flag(help: "Play again each file that is saved, until interrupted.")
    var watch = false

    @Flag(help: "Show the phone of one scenario in the terminal, and wait for a key before each step.")
    var step = false

    @Flag(help: "Write the screens of `expect screen` to their files instead of comparing them.")
    var update = false

    @Flag(help: "Keep each scenario's lab and phones, and print their folders.")
    var keep = false

    @Option(
        help: ArgumentHelp(
            "Write the complete server log of each scenario, as JSON, to a file in this folder.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var serverLogs: String?

    @Option(help: ArgumentHelp("Number of parallel scenarios; default: the number of processors.", valueName: "n"))
    var jobs: Int?

    @OptionGroup(title: "Output")
    var output: RunOutputOptions

    func validate() throws {
        guard !self.paths.isEmpty || self.output.writesFormat else {
            throw ValidationError("Name at least one scenario file or folder.")
        }
        try PathArgument.check(self.paths + [self.serverLogs])
        if let jobs, jobs < 1 { throw ValidationError("--jobs must be at least 1.") }
        guard self.selection.count == nil || !self.output.hasTable else {
            throw ValidationError("--repeat cannot be combined with --table or --table-check.")
        }
        guard !self.step || !(self.list || self.check || self.watch || self.selection.count != nil) else {
            throw ValidationError("--step plays one scenario once; omit --list, --check, --watch and --repeat.")
        }
        guard !self.watch || !(self.list || self.check || self.output.writesFiles) else {
            throw ValidationError("--watch plays scenarios and shows their results only in the terminal.")
        }
    }

    private var paths: [String] { self.files + self.output.filesAfterReport }

    func run() async throws {
        let status: Int32
        do {
            status = try await self.status()
        } catch {
            let failure = RunFailure(error)
            StandardStreams.writeError("wallet: \(PINArgument.masked(failure.message))\n")
            throw ExitCode(failure.exitCode)
        }
        if status != 0 { throw ExitCode(status) }
    }

    private func status() async throws -> Int32 {
        if try self.output.writeFormat() { return 0 }
        if self.watch {
            // Report missing files right away. Later on, a file can briefly be missing while an editor replaces it.
            _ = try ScenarioFiles.files(self.paths).map(DurableFile.changeTime(of:))
            return try await self.untilInterrupted { try await self.playSavedFiles() }
        }
        let scenarios = try self.selection.scenarios(of: ScenarioFiles.read(ScenarioFiles.files(self.paths)))
        if self.list {
            StandardStreams.writeOutput(ScenarioList.text(scenarios))
            return 0
        }
        if self.check {
            let subject = scenarios.count == 1 ? "1 scenario is" : "\(scenarios.count) scenarios are"
            StandardStreams.writeOutput("\(subject) well formed\n")
            return 0
        }
        return try await self.untilInterrupted {
            try await self.step ? self.walk(scenarios) : self.play(scenarios)
        }
    }

    /// Runs all scenarios, then those in every file that is saved, until interrupted by the user.
    private func playSavedFiles() async throws -> Int32 {
        var watch = ScenarioWatch(self.paths)
        while true {
            let files = await watch.changes()
            guard !Task.isCancelled else { return 130 }
            do {
                let scenarios = try self.selection.scenarios(of: ScenarioFiles.read(files))
                if try await self.play(scenarios) == 130 { return 130 }
            } catch let failure as RunFailure where failure.exitCode == WalletExitStatus.usage.rawValue {
                StandardStreams.writeError("wallet: \(failure.message)\n")
            }
            StandardStreams.writeError("waiting for a saved file; Ctrl-C ends\n")
        }
    }

    /// Runs a scenario in the terminal and shows its report after the last step.
    private func walk(_ scenarios: [Scenario]) async throws -> Int32 {
        guard scenarios.count == 1 else {
            throw RunFailure.usage("--step plays one scenario, and \(scenarios.count) are selected; add --filter")
        }
        guard Terminal.isTerminal(0), Terminal.isTerminal(1) else { throw RunFailure.usage("--step needs a terminal") }
        let palette = Palette(environment: Environment.value)
        guard let terminal = try? FullScreen(hasOwnScreen: palette.hasControl) else {
            throw RunFailure.usage("the terminal cannot be switched to reading single keys")
        }
        let screen = StepScreen(terminal, palette)
        return try await self.play(scenarios, until: terminal.close) { phone, place in
            switch place {
            case .step(let text): return await screen.shows(phone, next: text)
            case .end(let result):
                await screen.shows(phone, end: result)
                return true
            }
        }
    }

    /// - Parameters:
    ///   - end: Called before the report is shown.
    ///   - pause: Called before every step.
    private func play(
        _ scenarios: [Scenario],
        until end: () -> Void = {},
        pause: ScenarioRunner.Pause? = nil
    ) async throws -> Int32 {
        defer { end() }
        try self.output.check()
        let target = try await self.target.target()
        let runner = ScenarioRunner(
            target,
            jobs: self.jobs ?? ScenarioRunner.processors,
            keepsFolders: self.keep,
            serverLogs: try self.logFolder(),
            retries: self.selection.retries,
            failsFast: self.selection.failFast,
            updatesScreens: self.update,
            pause: pause
        )
        let progress = ScenarioProgress(of: scenarios.count, self.output)
        let start = ContinuousClock.now
        // A cancelled run stops its servers and removes its folders before it returns the results that it has.
        let results = await runner.run(scenarios) { if pause == nil { progress.add($1) } }
        let isInterrupted = Task.isCancelled
        end()
        if pause != nil { results.forEach(progress.add) }
        progress.end()
        // An interrupted run says nothing about the steps that it did not reach.
        let coverage = isInterrupted ? nil : try self.output.coverage(of: results)
        let report = Report(results: results, duration: ContinuousClock.now - start, coverage: coverage)
        try self.output.write(report)
        try self.output.writeScreens(report)
        if isInterrupted { return 130 }
        let isPageRight = try self.output.writePage(results)
        return report.isSuccess && isPageRight ? 0 : 1
    }

    /// Returns the folder for server logs, creating it if necessary.
    private func logFolder() throws -> String? {
        guard let folder = self.serverLogs.map(Environment.absolute) else { return nil }
        do {
            if !DurableFile.isFolder(folder) { try DurableFile.makeFolder(folder) }
            try OutputFile.check(folder: folder)
        } catch {
            throw RunFailure.usage("\(error)")
        }
        return folder
    }

    /// Returns the status of `play`, whose task is cancelled at SIGINT, SIGTERM or SIGHUP.
    ///
    /// A command calls this once: a signal between two calls would be lost. Outside of `--step`, which must restore the
    /// terminal, the process ends some time after the signal, or at the second one. All threads that run tasks may wait
    /// for the reader of the output, and no task then sees the signal.
    private func untilInterrupted(_ play: @escaping @Sendable () async throws -> Int32) async throws -> Int32 {
        let ending: [UnixSignal] = [.sigint, .sigterm] + (Hangup.isIgnored ? [] : [.sighup])
        let signals = await UnixSignalsSequence(trapping: ending)
        if !self.step { ProcessEnd.limitStop(to: .seconds(30)) { _ in } }
        return try await withThrowingTaskGroup(of: Int32?.self) { group in
            group.addTask {
                do {
                    return try await play()
                } catch is CancellationError {
                    return 130
                }
            }
            group.addTask {
                for await _ in signals { return nil }
                return nil
            }
            var status: Int32?
            while let next = try await group.next() {
                status = next ?? status
                group.cancelAll()
            }
            guard let status else { preconditionFailure("a cancelled run returns its status, too") }
            return status
        }
    }
}

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

/// Waits until scenario files are saved.
///
/// Files are checked every quarter of a second, which works on every file system and in containers.
struct ScenarioWatch {
    private let paths: [String]
    private var stamps: [String: Int64] = [:]

    /// Watches files and folders.
    ///
    /// The first call to ``changes()`` returns all files that exist at that point.
    init(_ paths: [String]) { self.paths = paths }

    /// Waits until at least one file has been saved or created since the last call, and returns those files, sorted.
    ///
    /// Deleted files are forgotten. Returns an empty list if the task is cancelled.
    mutating func changes() async -> [String] {
        while !Task.isCancelled {
            let stamps = self.current
            let changed = stamps.filter { self.stamps[$0.key] != $0.value }.keys.sorted()
                .filter { self.paths.contains($0) || Scenario.isScenario(contentsOf: $0) }
            self.stamps = stamps
            if !changed.isEmpty { return changed }
            try? await Task.sleep(for: .milliseconds(250))
        }
        return []
    }

    /// The modification times of the files.
    private var current: [String: Int64] {
        let files = self.paths.flatMap { DurableFile.isFolder($0) ? ScenarioFiles.candidates(in: $0) : [$0] }
        return files.reduce(into: [:]) { stamps, file in stamps[file] = try? DurableFile.changeTime(of: file) }
    }
}
