import ArgumentParser
internal import HostSystem

/// The load tester for remote-PIN servers.
@main
struct PinLoadProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin-load",
        abstract: "Load-test a remote-PIN server and check every answer.",
        discussion: """
            EXAMPLES

              Start a lab server in another terminal:
                remote-pin-server lab up lab

              Register a thousand wallets:
                pin-load provision --lab lab --wallets 1000 --out wallets

              Check PINs for half a minute:
                pin-load run --lab lab --wallets wallets --connections 100 \\
                  --duration 30s --out result

              Flood the server at the same time:
                pin-load flood --lab lab --kinds half-open,slow,garbage --rate 1000

            EXIT CODES

                0  success
                1  usage error, or an unusable file
               69  the server is unreachable or rejects the request
               70  a disk error, a damaged wallet record, or an output that nothing reads
                   for a minute
               75  another process uses the wallets
               99  a threshold is not met, a violation, or the server was lost
              130  interrupted
            """,
        version: BuildID.text(of: "pin-load"),
        subcommands: [
            ProvisionCommand.self, LoadRunCommand.self, ProveCommand.self, FloodCommand.self, ReportCommand.self,
            CompareCommand.self, MergeCommand.self, ProfilesCommand.self,
        ]
    )

    /// Like the parser's own method, but exits with status 1 after a usage error, as other load testers do.
    static func main() async {
        StandardStreams.prepare(statusOfLostOutput: PinLoadStatus.failed.rawValue)
        // The load must not wait until something reads the progress.
        StandardStreams.queueErrors()
        do {
            var command = try self.parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch {
            guard self.exitCode(for: error) == .validationFailure else { self.exit(withError: error) }
            StandardStreams.writeError(self.fullMessage(for: error) + "\n")
            self.exit(withError: PinLoadStatus.usage.exitCode)
        }
    }
}
