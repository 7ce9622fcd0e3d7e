import ArgumentParser
internal import HostSystem
internal import Phone
internal import Scenarios
internal import UnixSignals

/// `wallet run`: scenarios that testers write.
struct RunScenariosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Play scenarios against a real server and say what went otherwise.",
        discussion: """
            A scenario is a YAML file: what a phone is, what happens, and what is expected. docs/testing-guide.md shows a \
            first one in five minutes.

            EXAMPLES

              wallet run Tests/Scenarios                      # all of a folder, each with a lab of its own
              wallet run LTC46.yaml --keep                    # the lab and the phone stay for a look
              wallet run --check *.yaml                       # only checks the files
              wallet run . --format junit --output report.xml

            EXIT CODES

                0  everything was as expected
                1  something was not
               64  a file or an option is wrong
               69  the server is not there
               70  the output does not fit on its disk
              130  interrupted
            """
    )

    @Argument(
        help: ArgumentHelp("Scenario files, or folders of them.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String] = []

    @OptionGroup(title: "What they are played against")
    var target: RunTargetOptions

    @Option(help: ArgumentHelp("Only scenarios whose case, title or path contains this text.", valueName: "text"))
    var filter: String?

    @Flag(help: "Only check the files.")
    var check = false

    @Flag(help: "Keep each scenario's lab and phones, and say where they lie.")
    var keep = false

    @Option(
        help: ArgumentHelp(
            "Have labs' servers log everything, as JSON, into a file for each scenario in this folder.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var serverLogs: String?

    @Option(help: ArgumentHelp("Scenarios at a time; as many as there are processors by default.", valueName: "n"))
    var jobs: Int?

    @OptionGroup(title: "Output")
    var output: RunOutputOptions

    func validate() throws {
        guard !self.files.isEmpty || self.output.writesFormat else {
            throw ValidationError("Name at least one scenario file or folder.")
        }
        if let jobs, jobs < 1 { throw ValidationError("--jobs takes a number from 1.") }
    }

    func run() async throws {
        let status: Int32
        do throws(RunFailure) {
            status = try await self.status()
        } catch {
            StandardStreams.writeError("wallet: \(error.message)\n")
            throw ExitCode(error.exitCode)
        }
        if status != 0 { throw ExitCode(status) }
    }

    private func status() async throws(RunFailure) -> Int32 {
        if try self.output.writeFormat() { return 0 }
        let scenarios = try ScenarioFiles.read(self.files, filter: self.filter)
        guard self.check else { return try await self.play(scenarios) }
        StandardStreams.writeOutput("\(scenarios.count) scenarios are well formed\n")
        return 0
    }

    private func play(_ scenarios: [Scenario]) async throws(RunFailure) -> Int32 {
        let target = try await self.target.target()
        let runner = ScenarioRunner(
            target,
            jobs: self.jobs ?? ScenarioRunner.processors,
            keepsFolders: self.keep,
            serverLogs: try self.logFolder()
        )
        let progress = ScenarioProgress(of: scenarios.count, self.output)
        let start = ContinuousClock.now
        guard
            let results = await Self.unlessInterrupted({
                await runner.run(scenarios) { progress.hear($1) }
            })
        else { return 130 }
        progress.end()
        let coverage = try self.output.coverage(of: results)
        let report = Report(results: results, duration: ContinuousClock.now - start, coverage: coverage)
        try self.output.write(report)
        let isPageRight = try self.output.writePage(results)
        return report.isSuccess && isPageRight ? 0 : 1
    }

    /// The folder for servers' logs, made where it does not exist.
    private func logFolder() throws(RunFailure) -> String? {
        guard let folder = self.serverLogs.map(Environment.absolute) else { return nil }
        do throws(FileError) {
            if !DurableFile.isFolder(folder) { try DurableFile.makeFolder(folder) }
            return folder
        } catch {
            throw .failed("\(error)")
        }
    }

    /// What the run gave; nil where a signal ended it, and then nothing of it is left.
    private static func unlessInterrupted(
        _ run: @escaping @Sendable () async -> [ScenarioResult]
    ) async -> [ScenarioResult]? {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        return await withTaskGroup(of: [ScenarioResult]?.self) { group in
            group.addTask { await run() }
            group.addTask {
                for await _ in signals { return nil }
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            // The interrupted run is waited for: its servers are ended and its folders removed by it.
            await group.waitForAll()
            return first
        }
    }
}
