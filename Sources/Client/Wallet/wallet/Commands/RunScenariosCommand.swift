import ArgumentParser
internal import HostSystem
internal import Phone
internal import Scenarios
internal import UnixSignals

/// `wallet run`: plays scenarios that testers write.
struct RunScenariosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Play scenarios against a real server and report deviations.",
        discussion: """
            A scenario is a YAML file with the properties of a phone, actions and expectations. docs/testing-guide.md \
            introduces scenarios in five minutes.

            EXAMPLES

              wallet run Tests/Scenarios                      # all of a folder, each with a separate lab
              wallet run LTC46.yaml --keep                    # keep the lab and the phone
              wallet run --check *.yaml                       # only check the files
              wallet run . --format junit --output report.xml

            EXIT CODES

                0  all expectations were met
                1  an expectation was not met
               64  invalid file or option
               69  the server cannot be reached or started
               70  the output cannot be written
              130  interrupted
            """
    )

    @Argument(
        help: ArgumentHelp("Scenario files, or folders of them.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String] = []

    @OptionGroup(title: "Server")
    var target: RunTargetOptions

    @Option(help: ArgumentHelp("Only scenarios whose case, title or path contains this text.", valueName: "text"))
    var filter: String?

    @Flag(help: "Only check the files.")
    var check = false

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
        guard !self.files.isEmpty || self.output.writesFormat else {
            throw ValidationError("Name at least one scenario file or folder.")
        }
        if let jobs, jobs < 1 { throw ValidationError("--jobs must be at least 1.") }
    }

    func run() async throws {
        let status: Int32
        do {
            status = try await self.status()
        } catch {
            let failure = RunFailure(error)
            StandardStreams.writeError("wallet: \(failure.message)\n")
            throw ExitCode(failure.exitCode)
        }
        if status != 0 { throw ExitCode(status) }
    }

    private func status() async throws -> Int32 {
        if try self.output.writeFormat() { return 0 }
        let scenarios = try ScenarioFiles.read(self.files, filter: self.filter)
        guard self.check else { return try await self.play(scenarios) }
        StandardStreams.writeOutput("\(scenarios.count) scenarios are well formed\n")
        return 0
    }

    private func play(_ scenarios: [Scenario]) async throws -> Int32 {
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
                await runner.run(scenarios) { progress.add($1) }
            })
        else { return 130 }
        progress.end()
        let coverage = try self.output.coverage(of: results)
        let report = Report(results: results, duration: ContinuousClock.now - start, coverage: coverage)
        try self.output.write(report)
        let isPageRight = try self.output.writePage(results)
        return report.isSuccess && isPageRight ? 0 : 1
    }

    /// The folder for server logs, which is created if it does not exist.
    private func logFolder() throws -> String? {
        guard let folder = self.serverLogs.map(Environment.absolute) else { return nil }
        if !DurableFile.isFolder(folder) { try DurableFile.makeFolder(folder) }
        return folder
    }

    /// Returns the results, or nil after SIGINT or SIGTERM; an interrupted run leaves no server or
    /// folder.
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
            // Waits for the interrupted run, which ends its servers and removes its folders.
            await group.waitForAll()
            return first
        }
    }
}
