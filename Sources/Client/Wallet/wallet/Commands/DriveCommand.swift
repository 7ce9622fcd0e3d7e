import ArgumentParser
internal import Phone
internal import WalletCore

/// `wallet drive`: a phone that another program holds.
struct DriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drive",
        abstract: "A phone for your own program: JSON lines in, JSON lines out.",
        discussion: """
            Each line of the input is one thing that happens to the phone. What the app does is told as with --json, a \
            line each; then a line of type "done" or "refused" answers the command. Time goes on between the lines: the \
            end of a block or a lock for inactivity is told when it comes. The end of the input is `quit`.

              {"do":"launch"}                            also with "url" and "source", for a start by a link
              {"do":"tap","action":"next"}               one of the present screen's actions
              {"do":"enter","pin":"024791"}              never written anywhere
              {"do":"biometric","present":"match"}       or mismatch, passcode, wrong-passcode, cancel
              {"do":"background"}  {"do":"resume"}  {"do":"end"}
              {"do":"link","url":"https://…","source":"app"}     or external-scanner
              {"do":"device","set":{"network":"off"}}    any keys of the profile
              {"do":"session","kind":"disclosure"}       the host app is busy: links have to wait; or none
              {"do":"look"}  {"do":"quit"}

            Every command may carry an "id", which its answer repeats. docs/testing-guide.md drives a setup from Python.

            EXAMPLE

              printf '%s\\n' '{"do":"launch"}' '{"do":"tap","action":"skip"}' | wallet drive --lab lab --home phone
            """
    )

    @OptionGroup var options: WalletOptions

    @Flag(help: "Show the splash screen for its second, as a real launch does.")
    var splash = false

    func run() async throws {
        let printer = Printer(isJSON: true, showsSteps: false)
        do throws(WalletCommandFailure) {
            let behavior = Phone.Behavior(skipsSplash: !self.splash, asksPerson: true)
            let phone = try self.options.phone(behavior, observer: printer.hear)
            await Driver(phone: phone, printer: printer).run(DriveInput.lines(from: 0))
            await phone.endProcess()
        } catch {
            printer.fail(error)
            throw error.status.exitCode
        }
        printer.finish(.done)
    }
}
