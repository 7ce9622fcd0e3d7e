import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import Scenarios
internal import WalletFlows

struct AppCommand: PhoneCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Run the app in a terminal.",
        discussion: """
            Each action shows its key. Arrow keys and Enter also select an action; Esc goes back. The sixth digit \
            enters the PIN. On every screen, b sends the app to the background and back, l opens a link, and q quits.

            At a prompt of the operating system, keys present an input to the phone: m a matching face or finger, x \
            another person's, p the passcode, w a wrong passcode; c cancels. If --sensor is set to anything but match \
            or ask, the phone answers its prompts.

            For a screen reader, set TERM=dumb: the app writes lines without frames and symbols, and only changes.

            EXAMPLES

              A phone with a fingerprint sensor, in Dutch:
                wallet app --lab lab --home phone --biometrics fingerprint --language nl

              Start the app with a link, as a browser would:
                wallet app --lab lab --home phone \\
                  --link https://wallet.example.org/link/issuance/1

              With a screen reader:
                TERM=dumb wallet app --lab lab --home phone

              Record a scenario, then play it:
                wallet app --lab lab --home new-phone --record recorded.yaml
                wallet run recorded.yaml
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions

    @Option(help: ArgumentHelp("A universal link that starts the app.", valueName: "url"))
    var link: String?

    @OptionGroup var recording: RecordOptions

    func run() async throws {
        do {
            try await self.show()
        } catch {
            let failure = WalletCommandFailure(error)
            StandardStreams.writeError("wallet: \(PINArgument.masked(failure.message))\n")
            throw failure.status.exitCode
        }
    }

    private func show() async throws {
        guard Terminal.isTerminal(0), Terminal.isTerminal(1) else {
            throw WalletCommandFailure.usage("`wallet app` needs a terminal; a program can use `wallet drive`")
        }
        let events = WalletEventQueue()
        let (phone, recorder) = try await self.phone(
            Phone.Behavior(asksPerson: true),
            recording: self.recording,
            report: events.report,
            observer: events.add
        )
        let palette = Palette(environment: Environment.value)
        let terminal = try mapError(FullScreen(hasOwnScreen: palette.hasControl)) { (_: InputError) in
            WalletCommandFailure.usage("the terminal cannot be switched to reading single keys")
        }
        try await TerminalApp(phone, receiving: events, on: terminal, palette).run(
            opening: self.link.map { IncomingLink($0) }
        )
        try recorder?.finish()
    }
}
