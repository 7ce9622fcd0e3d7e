import ArgumentParser
internal import HostSystem
internal import LoadFleet
internal import LoadFlood
internal import LoadPlan
internal import ConfigText

/// Opens connections that mean no good, to see what becomes of those that do.
struct FloodCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flood",
        abstract: "Flood the server with connections that say nothing, little or nonsense.",
        discussion: """
            Beside it, `pin-load run` tells how the others fare. It ends by itself; Ctrl-C ends it early. Nothing it sends \
            is a call, so no wallet is touched.

            KINDS

              half-open  connects and says nothing
              slow       begins a TLS handshake, a byte each half second
              garbage    says up to 512 random bytes
              hello      says a whole client hello and then nothing: the server has signed by then
              churn      connects and leaves at once

            EXAMPLES

              pin-load flood --lab lab --kinds half-open,slow,garbage --rate 1000 \\
                --duration 60s

              The server on one core, everything else on the other (docs/limits.md):
                taskset -c 1 pin-load flood --lab lab --rate 2k --held 10k \\
                  --sources 127.1.0.0/16
            """
    )

    @OptionGroup var target: TargetOptions

    @Option(
        help: ArgumentHelp("Kinds of connections, in turn. (default: half-open,slow,garbage)", valueName: "kinds"),
        completion: .list(FloodKind.allCases.map(\.rawValue)),
        transform: Self.kinds
    )
    var kinds: [FloodKind] = [.halfOpen, .slow, .garbage]

    @Option(
        help: ArgumentHelp(
            "Addresses of this machine that they come from, a part of 127.0.0.0/8. (default: 127.0.0.0/16)",
            valueName: "network"
        ),
        transform: Self.network
    )
    var sources: SourceNetwork?

    @Option(
        help: ArgumentHelp("Connections begun a second. (default: 1000)", valueName: "rate"),
        transform: Self.rate
    )
    var rate: Double = 1_000

    @Option(
        help: ArgumentHelp("Connections at a time; the oldest goes for a new one. (default: 5000)", valueName: "n"),
        transform: Self.count
    )
    var held: Int = 5_000

    @Option(
        help: ArgumentHelp("When it ends. (default: 30s)", valueName: "time"),
        transform: Self.duration
    )
    var duration: Duration = .seconds(30)

    func run() async throws {
        try await ending {
            let target = try self.target.target()
            guard target.isLoopback || self.sources == nil else {
                throw CommandFailure(.usage, "--sources are addresses of this machine; \(target.host) is another one.")
            }
            let needed = self.held + Self.otherFiles
            let limit = OpenFiles.raise(to: needed)
            guard limit.current >= needed else {
                throw CommandFailure(
                    .usage,
                    """
                    --held \(self.held) needs \(needed) open files, and this user may have \(limit.highest). Raise the limit \
                    first, as root: prlimit --pid $$ --nofile=\(needed)
                    """
                )
            }
            // 127.0.0.1 is the system's choice; ::1 has no other addresses beside it.
            let isIPv4 = target.isLoopback && target.host != "::1"
            let plan = FloodPlan(
                kinds: self.kinds,
                sources: self.sources ?? (isIPv4 ? SourceNetwork("127.0.0.0/16") : nil),
                rate: self.rate,
                held: self.held,
                duration: self.duration
            )
            // `localhost` may be ::1, which cannot be reached from 127.0.0.0/8.
            let host = target.host == "localhost" ? "127.0.0.1" : target.host
            try await self.run(Flood(plan, host: host, port: target.port), plan, address: target.address)
        }
    }

    /// Files beside connections, and connections on their way.
    private static let otherFiles = 2_100

    private func run(_ flood: Flood, _ plan: FloodPlan, address: String) async throws {
        let display = FloodDisplay(flood)
        let from = plan.sources.map { " from \($0)" } ?? ""
        StandardStreams.writeError(
            "flooding \(address)\(from): \(plan.kinds.map(\.rawValue).joined(separator: ", "))\n"
        )
        let watching = await Interruption.watch {
            display.stop()
            flood.stop()
        }
        let ticking = Task { await display.tick() }
        await flood.run()
        watching.cancel()
        ticking.cancel()
        display.end()
        StandardStreams.writeOutput("flood over: \(FloodDisplay.line(flood.progress))\n")
        if display.isStopped { throw ExitStatus.interrupted.exitCode }
    }
}

// MARK: - What is written on the command line

extension FloodCommand {
    private static func kinds(_ text: String) throws -> [FloodKind] {
        let words = text.split(separator: ",")
        guard !words.isEmpty else { throw ValidationError("name one kind at least, as in half-open,slow") }
        return try words.map { word in
            guard let kind = FloodKind(rawValue: String(word)) else {
                let names = FloodKind.allCases.map(\.rawValue)
                let hint = NearestName.to(String(word), among: names).map { "; did you mean `\($0)`?" } ?? ""
                throw ValidationError("`\(word)` is none of \(names.joined(separator: ", "))\(hint)")
            }
            return kind
        }
    }

    private static func network(_ text: String) throws -> SourceNetwork {
        guard let network = SourceNetwork(text) else {
            throw ValidationError("sources are a part of 127.0.0.0/8, as in 127.1.0.0/16")
        }
        return network
    }

    private static func rate(_ text: String) throws -> Double {
        let digits = text.hasSuffix("/s") ? String(text.dropLast(2)) : text
        guard let rate = CountText.readNumber(digits), rate > 0, rate <= 1_000_000 else {
            throw ValidationError("a rate is a number, as in 500, 2.5k or 500/s")
        }
        return rate
    }

    private static func count(_ text: String) throws -> Int {
        guard let count = CountText.readCount(text), (1...1_000_000).contains(count) else {
            throw ValidationError("a number of connections is 1 to 1M, as in 2000 or 10k")
        }
        return count
    }

    private static func duration(_ text: String) throws -> Duration {
        guard let duration = DurationText.read(text), duration > .zero else {
            throw ValidationError("a time has a unit, as in 500ms, 10s or 2m")
        }
        return duration
    }
}
