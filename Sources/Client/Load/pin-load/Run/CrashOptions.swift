import ArgumentParser
internal import LabFiles
internal import LoadPlan
internal import LoadEngine

/// Options for crashing a lab's server during the load.
struct CrashOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --lab: start the lab's server, and kill and restart it at this interval during the load. The "
                + "run fails if a restart takes more than 30s.",
            valueName: "time"
        )
    )
    var killServerEvery: String?

    @Option(
        help: ArgumentHelp("Server program. (default: the one next to pin-load)", valueName: "file"),
        completion: .file()
    )
    var serverProgram: String?
}

extension CrashOptions {
    /// Returns the interval between two kills, or nil for none.
    func interval(_ target: TargetOptions) throws(PlanError) -> Duration? {
        var reader = OptionReader()
        var interval: Duration?
        reader.read("--kill-server-every", self.killServerEvery, OptionReader.time) { interval = $0 }
        if self.killServerEvery != nil, target.lab == nil {
            reader.complain("--kill-server-every", "only with --lab, whose server pin-load starts itself")
        }
        if let interval, interval < .milliseconds(100) {
            reader.complain("--kill-server-every", "the minimum is 100ms")
        }
        if self.killServerEvery == nil, self.serverProgram != nil {
            reader.complain("--server-program", "only with --kill-server-every")
        }
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        return interval
    }

    /// Starts the lab's server.
    func startServer(of target: TargetOptions) async throws(PinLoadFailure) -> CrashingServer {
        do throws(CrashingServer.Problem) {
            return try await CrashingServer.start(LabFolder(target.lab ?? ""), program: self.serverProgram)
        } catch {
            throw PinLoadFailure(.usage, error.description)
        }
    }
}
