import ArgumentParser
internal import SimulatedPhone
internal import Scenarios
internal import WalletCore

struct DriveCommand: PhoneCommand {
    static let configuration = CommandConfiguration(
        commandName: "drive",
        abstract: "Control the app from a program with JSON lines.",
        discussion: """
            Each input line is a command. The output reports the events of the app as with --json, one per line; a \
            line of type "done" or "refused" then answers the command. Timers run between commands: the end of a block \
            or an inactivity lock is reported when it occurs. The end of the input means `quit`. The program also ends \
            if it cannot write an answer, for example because nothing has read its output for a minute.

              {"do":"launch"}                        "url" and "source": with a link
              {"do":"tap","action":"next"}           an action of the current screen
              {"do":"enter","pin":"024791"}          never written or logged
              {"do":"biometric","present":"match"}   or mismatch, passcode,
                                                     wrong-passcode, cancel
              {"do":"background"}  {"do":"resume"}  {"do":"end"}
              {"do":"link","url":"https://…","source":"app"}  or external-scanner
              {"do":"device","set":{"network":"off"}}  any keys of the profile
              {"do":"session","kind":"disclosure"}   the host app is busy, so links
                                                     wait; or none
              {"do":"confirm","title":"Pay 25 EUR"}  the host app asks the user to
                                                     confirm; also "details"
              {"do":"look"}  {"do":"quit"}

            A command may have an "id", which its answer repeats. docs/testing-guide.md has an example in Python.

            EXAMPLE

              printf '%s\\n' '{"do":"launch"}' '{"do":"tap","action":"skip"}' |
                wallet drive --lab lab --home phone
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions

    @Flag(help: "Show the splash screen for one second, as a real launch does.")
    var splash = false

    @OptionGroup var recording: RecordOptions

    func run() async throws {
        let printer = Printer(isJSON: true, showsSteps: false)
        do {
            let behavior = Phone.Behavior(skipsSplash: !self.splash, asksPerson: true)
            let (phone, recorder) = try await self.phone(behavior, recording: self.recording, observer: printer.print)
            await Driver(phone: phone, printer: printer).run(DriveInput.lines(from: 0))
            await phone.endProcess()
            try recorder?.finish()
        } catch {
            let failure = WalletCommandFailure(error)
            printer.fail(failure)
            throw failure.status.exitCode
        }
        printer.finish(.done)
    }
}
