import ArgumentParser
internal import Lab
internal import LoadPlan
internal import LoadEngine

/// Crashes of a lab's server while the load goes on.
struct CrashOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --lab: start the lab's server, kill it at once each time so much has passed, and start it again, while "
                + "the load goes on and every answer is judged. One that is not back within 30s ends the run, which fails.",
            valueName: "time"
        )
    )
    var killServerEvery: String?

    @Option(
        help: ArgumentHelp("The server's program, where it does not stand beside this one.", valueName: "file"),
        completion: .file()
    )
    var serverProgram: String?
}

extension CrashOptions {
    /// How often the server is to be killed; nil for never.
    func interval(_ target: TargetOptions) throws(PlanError) -> Duration? {
        var reader = OptionReader()
        var interval: Duration?
        reader.read("--kill-server-every", self.killServerEvery, OptionReader.time) { interval = $0 }
        if self.killServerEvery != nil, target.lab == nil {
            reader.complain("--kill-server-every", "only with --lab: no other server is this tool's to kill")
        }
        if let interval, interval < .milliseconds(100) {
            reader.complain("--kill-server-every", "a tenth of a second at least")
        }
        if self.killServerEvery == nil, self.serverProgram != nil {
            reader.complain("--server-program", "only with --kill-server-every")
        }
        guard reader.problems.isEmpty else { throw PlanError(reader.problems) }
        return interval
    }

    /// Serves the lab, so that there is a server to kill.
    func startServer(of target: TargetOptions) async throws(CommandFailure) -> CrashingServer {
        do throws(CrashingServer.Problem) {
            return try await CrashingServer.start(LabFolder(target.lab ?? ""), program: self.serverProgram)
        } catch {
            throw CommandFailure(.usage, error.description)
        }
    }
}
