import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import Vocabulary

/// A PIN typed as an argument, where other processes can read it.
enum PINArgument {
    static let message =
        "a PIN cannot be an argument, which other processes can read; use --pin-fd N or --pin-file FILE"

    /// Returns whether arguments that cannot be parsed may contain a PIN.
    static func isIn(_ arguments: [String]) -> Bool {
        arguments.contains { argument in
            argument.hasPrefix("--pin") && !argument.hasPrefix("--pin-f") || !Self.numbers(in: argument).isEmpty
        }
    }

    /// Returns a message with an asterisk for each digit of an argument that may be a PIN.
    static func masked(_ message: String) -> String {
        CommandLine.arguments.dropFirst().flatMap(Self.numbers).reduce(message) { message, number in
            message.replacing(number, with: String(repeating: "*", count: number.count))
        }
    }

    /// Returns the parts of an argument that have the form of a PIN: the value, or the end of an option's name.
    private static func numbers(in argument: String) -> [Substring] {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard argument.hasPrefix("-"), let name = parts.first else { return parts.suffix(1).filter(Self.hasForm) }
        let digits = name.split { $0.unicodeScalars.contains { $0.decimalDigit == nil } }
        return (digits + parts.dropFirst()).filter(Self.hasForm)
    }

    /// Returns whether a text has the form of a PIN, or of one that is a little too short or too long.
    private static func hasForm(_ text: Substring) -> Bool {
        text.unicodeScalars.count >= 4 && text.unicodeScalars.allSatisfy { $0.decimalDigit != nil }
    }
}

/// The `wallet` program, for use by testers, scripts and other programs.
@main
struct WalletProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wallet",
        abstract: "A wallet whose PIN is checked by a remote server.",
        discussion: """
            `app` runs the app in a terminal, `drive` lets a program control it, and `run` plays scenarios that \
            testers write. Every other command launches the app, locked, performs its action, prints the last screen \
            and exits. With `TERM=dumb`, `wallet app` prints line by line, for screen readers.

            EXAMPLES

              Start a lab server in another terminal:
                remote-pin-server lab up lab

              Run the app on a phone with face recognition:
                wallet app --lab lab --home phone --platform ios --biometrics face

              Set up and unlock a wallet on a simulated phone (asks for the PIN):
                wallet setup --lab lab --home phone
                wallet unlock --lab lab --home phone

              Unlock from a script, with the PIN in a file:
                printf '024791\\n' >pin && chmod 600 pin
                wallet unlock --lab lab --home phone --pin-file pin --json

              Change the PIN; the old PIN is the first line, the new PIN the second:
                printf '024791\\n135790\\n' | wallet change-pin --lab lab --home phone \\
                  --pin-fd 0

              Set up on a rooted phone, which the server rejects with exit code 14:
                wallet setup --lab lab --home rooted --platform ios --rooted

              Play a scenario against a separate server:
                wallet run Tests/Scenarios/LTC46.yaml

            EXIT CODES

               0  done                 14  device insecure
              10  wrong PIN            15  no internet
              11  blocked for a time   16  server unreachable
              12  blocked permanently  17  update needed
              13  revoked              18  cancelled or not accepted
              64  usage
              70  internal error, or the output cannot be written or is not read
                  for a minute
              75  the home is in use by another process
              See `wallet help run` for those of `run`.
            """,
        version: BuildID.text(of: "wallet"),
        subcommands: [
            AppCommand.self, DriveCommand.self, OpenCommand.self, SetupCommand.self, UnlockCommand.self,
            StatusCommand.self,
            ChangePINCommand.self,
            ShowDeletionCodeCommand.self, ConfirmCommand.self, WipeCommand.self, RunScenariosCommand.self,
            ExplainCommand.self,
        ]
    )

    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: WalletExitStatus.failed.rawValue)
        let arguments = Array(CommandLine.arguments.dropFirst())
        if PINArgument.isIn(arguments), let message = self.refusal(of: arguments) {
            // The number may be a PIN, or the mistake may be another one. The parser would take `--pin` for `--lab`.
            let isNamed = arguments.contains { $0 == "--pin" || $0.hasPrefix("--pin=") }
            let found = isNamed ? "" : "wallet: \(PINArgument.masked(message))\n"
            StandardStreams.writeError("\(found)wallet: \(PINArgument.message)\n")
            self.exit(withError: WalletExitStatus.usage.exitCode)
        }
        await self.main(nil)
    }

    /// Returns the parser's message, or nil if the arguments can be parsed or only ask for help.
    private static func refusal(of arguments: [String]) -> String? {
        do {
            _ = try self.parseAsRoot(arguments)
            return nil
        } catch {
            return self.exitCode(for: error) == .validationFailure ? self.message(for: error) : nil
        }
    }
}
