import ArgumentParser
internal import HostSystem
internal import LoadEngine

struct FloodCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flood",
        abstract: "Flood a server with incomplete or invalid connections.",
        discussion: """
            Measures nothing itself: start 'pin-load run' at the same time and compare its result with one without a \
            flood. A flood sends no calls and changes no wallet. Ctrl-C ends it early.

            KINDS

              half-open  connects and sends nothing
              slow       sends a TLS handshake at one byte per half second
              garbage    sends up to 512 random bytes
              hello      sends a complete client hello, for which the server signs
              churn      connects and closes at once

            EXAMPLES

              pin-load flood --lab lab --kinds half-open,slow,garbage --rate 1000 \\
                --duration 60s

              With the server on another core (docs/limits.md):
                taskset -c 1 pin-load flood --lab lab --rate 2k --held 10k \\
                  --sources 127.1.0.0/16
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(
        help: ArgumentHelp("Kinds of connections. (default: half-open,slow,garbage)", valueName: "kinds"),
        completion: .list(FloodKind.allCases.map(\.rawValue)),
        transform: Self.kinds
    )
    var kinds: [FloodKind] = [.halfOpen, .slow, .garbage]

    @Option(
        help: ArgumentHelp("Source addresses, within 127.0.0.0/8. (default: 127.0.0.0/16)", valueName: "network"),
        transform: Self.network
    )
    var sources: SourceNetwork?

    @Option(
        help: ArgumentHelp("New connections per second. (default: 1000)", valueName: "rate"),
        transform: OptionText.rate
    )
    var rate: Double = 1_000

    @Option(
        help: ArgumentHelp(
            "Maximum number of open connections; a new one closes the oldest. (default: 5000)",
            valueName: "n"
        ),
        transform: OptionText.count
    )
    var held: Int = 5_000

    @Option(help: ArgumentHelp("Length of the flood. (default: 30s)", valueName: "time"), transform: OptionText.time)
    var duration: Duration = .seconds(30)

    func validate() throws {
        guard self.rate > 0, self.rate <= 1_000_000 else { throw ValidationError("--rate must be above 0, up to 1M.") }
        guard (1...1_000_000).contains(self.held) else { throw ValidationError("--held must be 1 to 1M.") }
    }

    private static func kinds(_ text: String) throws -> [FloodKind] {
        let words = text.split(separator: ",")
        guard !words.isEmpty else { throw ValidationError("name at least one kind, as in half-open,slow") }
        do throws(PlanProblem) {
            return try words.map { (word) throws(PlanProblem) in try NameText.read(String(word), place: "--kinds") }
        } catch {
            throw ValidationError(error.text)
        }
    }

    private static func network(_ text: String) throws -> SourceNetwork {
        guard let network = SourceNetwork(text) else {
            throw ValidationError("sources are a network within 127.0.0.0/8, as in 127.1.0.0/16")
        }
        return network
    }

    /// Headroom for file descriptors that are not open connections, such as connections waiting to be accepted.
    private static let otherFiles = 2_100

    func run() async throws {
        try await reportingFailure {
            let target = try self.target.target()
            guard target.isLoopback || self.sources == nil else {
                throw PinLoadFailure(.usage, "--sources needs a server on this machine; \(target.host) is another one")
            }
            let needed = self.held + Self.otherFiles
            let limit = OpenFiles.raise(to: needed)
            guard limit.current >= needed else {
                throw PinLoadFailure(
                    .usage,
                    "--held \(self.held) needs \(needed) open files, but the limit is \(limit.highest); raise it "
                        + "as root: prlimit --pid $$ --nofile=\(needed)"
                )
            }
            // IPv6 has only one loopback address.
            let isIPv4 = target.isLoopback && target.host != "::1"
            let plan = FloodPlan(
                kinds: self.kinds,
                sources: self.sources ?? (isIPv4 ? SourceNetwork("127.0.0.0/16") : nil),
                rate: self.rate,
                held: self.held,
                duration: self.duration
            )
            // `localhost` may resolve to ::1, which 127.0.0.0/8 cannot reach.
            let host = target.host == "localhost" ? "127.0.0.1" : target.host
            let from = plan.sources.map { " from \($0)" } ?? ""
            StandardStreams.writeError(
                "flooding \(target.address)\(from): \(plan.kinds.map(\.rawValue).joined(separator: ", "))\n"
            )
            try await Self.run(Flood(plan, host: host, port: target.port))
        }
    }

    private static func run(_ flood: Flood) async throws {
        let display = ProgressDisplay()
        await display.run {
            ProgressText(Self.parts(flood.progress))
        } stop: {
            flood.stop()
        } _: {
            await flood.run()
        }
        StandardStreams.writeOutput("flood ended: \(Self.parts(flood.progress).joined(separator: "  "))\n")
        if display.isStopping { throw PinLoadStatus.interrupted.exitCode }
    }

    private static func parts(_ progress: FloodProgress) -> [String] {
        let rate = Double(progress.opened) / max(0.001, progress.elapsed / .seconds(1))
        let counts = [
            ("open", progress.held), ("closed by the server", progress.closedByServer),
            ("not accepted", progress.notOpened), ("not started", progress.unsent),
        ]
        return [progress.elapsed.clockText, "opened \(NumberText.count(progress.opened)) (\(NumberText.rate(rate)))"]
            + counts.map { "\($0) \(NumberText.count($1))" } + ["sent \(NumberText.bytes(Double(progress.bytesSent)))"]
    }
}
