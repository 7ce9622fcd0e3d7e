import ArgumentParser
internal import HostSystem
internal import LoadEngine

struct MergeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Join the results of the parts of one load.",
        discussion: """
            Counts and histograms are added exactly, so the percentiles are those of all operations. Thresholds are \
            evaluated anew.

            EXAMPLES

              On each of two machines, with copies of one wallet file:
                pin-load run … --part 1/2 --start-at 2026-12-01T09:00:00Z --out part-1.json
                pin-load run … --part 2/2 --start-at 2026-12-01T09:00:00Z --out part-2.json

              On one of them:
                pin-load merge part-1.json part-2.json --out result

            EXIT CODES

               0  merged
               1  usage error, an unusable file, or results that are not parts of one load
              99  a part failed, or a threshold is not met
            """
    )

    @Argument(help: ArgumentHelp("JSON of each part.", valueName: "file"), completion: .file())
    var paths: [String]

    @OptionGroup(title: "Result") var output: ResultOptions

    func run() async throws {
        try await reportingFailure {
            var parts: [RunResult] = []
            for path in self.paths { parts.append(try ResultFile.read(path)) }
            let result = try mapError(RunResult.merged(parts), to: PinLoadFailure.usage)
            try self.output.write(result, to: try self.output.destinations())
            if result.exitCode != 0 { throw ExitCode(result.exitCode) }
        }
    }
}
