import ArgumentParser
internal import HostSystem
internal import LoadEngine

struct CompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Compare a run with an earlier one.",
        discussion: """
            Prints which run failed or did not complete its plan, the settings that differ, and each metric of both \
            runs with the ratio. A difference within three standard errors is reported as noise.

            EXAMPLES

              pin-load compare before.json after.json
              pin-load compare before.json after.json --fail-if 'p99>+10%' \\
                --fail-if 'rate<-5%' --fail-if 'server-cpu>+5%'

            EXIT CODES

               0  compared
               1  usage error, or an unusable file
              99  a metric changed by more than --fail-if allows, or was not measured
            """
    )

    @Argument(help: ArgumentHelp("JSON of the earlier run.", valueName: "before"), completion: .file())
    var before: String

    @Argument(help: ArgumentHelp("JSON of the later run.", valueName: "after"), completion: .file())
    var after: String

    @Option(
        name: .customLong("fail-if"),
        help: ArgumentHelp(
            "Exit with 99 if a metric changed by more, as in 'p99>+10%' or 'rate<-5%'; repeatable.",
            valueName: "change"
        ),
        transform: Self.limit
    )
    var limits: [ChangeLimit] = []

    private static func limit(_ text: String) throws -> ChangeLimit {
        try mapError(ChangeLimit(parsing: text)) { (error: ChangeLimitError) in ValidationError(error.description) }
    }

    func run() async throws {
        try await reportingFailure {
            let comparison = Comparison(try ResultFile.read(self.before), try ResultFile.read(self.after))
            StandardStreams.writeOutput(comparison.text(limits: self.limits))
            if self.limits.contains(where: { $0.isExceeded(in: comparison) != false }) {
                throw PinLoadStatus.broken.exitCode
            }
        }
    }
}
