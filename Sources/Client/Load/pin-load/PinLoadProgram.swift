import ArgumentParser
internal import HostSystem

/// Loads a remote-PIN server and judges what it answers.
@main
struct PinLoadProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin-load",
        abstract: "Load a remote-PIN server with PIN checks, and judge every answer.",
        discussion: """
            EXAMPLES

              A lab of your own, served in another terminal:
                remote-pin-server lab up lab

              A thousand wallets in it, registered for real; again, it goes on:
                pin-load provision --lab lab --wallets 1000 --out wallets

              Half a minute of PIN checks, every answer judged (pin-load help run):
                pin-load run --lab lab --wallets wallets --connections 100 \\
                  --duration 30s --out result

              What becomes of them while somebody floods it (pin-load help flood):
                pin-load flood --lab lab --kinds half-open,slow,garbage --rate 1000

            EXIT CODES

                0  done
                1  usage, or a file that is named cannot be used
               69  the server cannot be reached or refuses
               70  the disk failed or is full, or a wallet's record is damaged
               75  the wallets are in use by another process
               99  a threshold or a promise was broken, also where it was interrupted
              130  interrupted; a run that had begun has its report
            """,
        version: BuildID.text(of: "pin-load"),
        subcommands: [
            ProvisionCommand.self, RunCommand.self, FloodCommand.self, ReportCommand.self, CompareCommand.self,
        ]
    )

    /// As the parser's own, but that usage errors end with 1, as testers know it of load tools.
    static func main() async {
        StandardStreams.prepare(statusOfLostOutput: ExitStatus.failed.rawValue)
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
            self.exit(withError: ExitStatus.usage.exitCode)
        }
    }
}
