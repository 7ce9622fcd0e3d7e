import ArgumentParser
internal import HostSystem
internal import Phone

/// The wallet for testers, in a terminal or for scripts and programs.
@main
struct WalletProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wallet",
        abstract: "A wallet whose PIN is checked by a remote server.",
        discussion: """
            `app` shows the whole app in a terminal, `drive` is a phone for a program of yours, `run` plays scenarios \
            that testers write. Each of the others is one app of the app: it launches, locked, does what it is named for, prints the last screen and ends.

            EXAMPLES

              A lab of your own, served in another terminal:
                remote-pin-server init --lab lab && remote-pin-server lab up lab

              The app, with a sensor for faces:
                wallet app --lab lab --home phone --platform ios --biometrics face

              A wallet on a simulated phone, from setup to unlock (asks for the PIN):
                wallet setup --lab lab --home phone
                wallet unlock --lab lab --home phone

              The same from a script; the PIN is a line of a file, never an option:
                printf '024791\\n' >pin && chmod 600 pin
                wallet unlock --lab lab --home phone --pin-file pin --json

              Another PIN: the old one is the first line, the new one the second:
                printf '024791\\n135790\\n' | wallet change-pin --lab lab --home phone --pin-fd 0

              A rooted phone, which is refused with exit code 14:
                wallet setup --lab lab --home rooted --platform ios --rooted

              A scenario against a real server of its own:
                wallet run Tests/Scenarios/LTC46.yaml

            EXIT CODES

               0  done                 14  device insecure
              10  wrong PIN            15  no internet
              11  blocked for a time   16  server unreachable
              12  blocked for good     17  update needed
              13  revoked              18  cancelled or not accepted
              64  usage
              70  internal, or the output does not fit on its disk
              75  the home is in use by another process
              `run` has its own (wallet help run).
            """,
        version: BuildID.text(of: "wallet"),
        subcommands: [
            AppCommand.self, DriveCommand.self, OpenCommand.self, SetupCommand.self, UnlockCommand.self,
            StatusCommand.self,
            ChangePINCommand.self,
            ShowDeletionCodeCommand.self, WipeCommand.self, RunScenariosCommand.self,
        ]
    )

    static func main() async {
        CoreDumps.forbid()
        StandardStreams.prepare(statusOfLostOutput: WalletExitStatus.failed.rawValue)
        await self.main(nil)
    }
}
