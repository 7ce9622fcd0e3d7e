import ArgumentParser
internal import HostSystem
internal import LoadReport

/// `pin-load compare`: what became different from one run to the next.
struct CompareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compare",
        abstract: "Hold a run against an earlier one.",
        discussion: """
            Tells first which run did not come to its plan's end or failed, in which choices and on which machines they \
            differ, then each figure of both, their ratio, and whether the difference is more than what the figure moves \
            within each run: the spread of up to ten stretches of a run, three standard errors of it.

            EXAMPLES

              pin-load compare before.json after.json
              pin-load compare before.json after.json --fail-if 'p99>+10%' \\
                --fail-if 'rate<-5%' --fail-if 'server-cpu>+5%'
              pin-load compare before.json after.json --json \\
                | jq '.figures[] | select(.finding == "worse")'

            EXIT CODES

               0  compared
               1  usage, or a file that cannot be used
              99  a --fail-if holds, or a run does not have its figure
            """
    )

    @Argument(help: ArgumentHelp("The JSON of the earlier run.", valueName: "before"), completion: .file())
    var before: String

    @Argument(help: ArgumentHelp("The JSON of the later run.", valueName: "after"), completion: .file())
    var after: String

    @Flag(help: "One JSON object instead of text.")
    var json = false

    @Option(
        name: .customLong("fail-if"),
        help: ArgumentHelp(
            "End with 99 where a figure changed by more, as in 'p99>+10%'; may be given again.",
            valueName: "change"
        ),
        transform: Self.limit
    )
    var limits: [ChangeLimit] = []

    private static func limit(_ text: String) throws -> ChangeLimit {
        do throws(ChangeLimitError) {
            return try ChangeLimit(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    func run() async throws {
        try await ending {
            let comparison = Comparison(try ResultFile.read(self.before), try ResultFile.read(self.after))
            StandardStreams.writeOutput(
                self.json ? comparison.jsonText(limits: self.limits) : comparison.text(limits: self.limits)
            )
            if self.limits.contains(where: { $0.isExceeded(in: comparison) != false }) {
                throw ExitStatus.broken.exitCode
            }
        }
    }
}
