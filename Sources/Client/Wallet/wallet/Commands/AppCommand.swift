import ArgumentParser
internal import HostSystem
internal import Phone
internal import TerminalApp
internal import WalletCore
internal import WalletFlows

/// `wallet app`: the whole app in a terminal.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "The app in a terminal: screens, keys, a PIN in dots.",
        discussion: """
            Each action shows its key; arrows and Enter select one as well, Esc goes back. The PIN is entered with its \
            sixth digit. Always there: b sends the app to the background and brings it back, l opens a link, q quits.

            While the operating system asks for the owner, what is held to the phone is a key, too: m a face or finger \
            that matches, x somebody else's, p the passcode, w a wrong one, c none at all. A phone whose --sensor is \
            told to misbehave answers by itself.

            EXAMPLES

              A phone with a fingerprint sensor, in Dutch:
                wallet app --lab lab --home phone --biometrics fingerprint --language nl

              Started by a link, as from a browser:
                wallet app --lab lab --home phone --link https://wallet.example.org/link/issuance/1
            """
    )

    @OptionGroup var options: WalletOptions

    @Option(help: ArgumentHelp("A universal link that starts the app.", valueName: "url"))
    var link: String?

    func run() async throws {
        do throws(WalletCommandFailure) {
            try await self.show()
        } catch {
            StandardStreams.writeError("wallet: \(error.message)\n")
            throw error.status.exitCode
        }
    }

    private func show() async throws(WalletCommandFailure) {
        guard Terminal.isTerminal(0), Terminal.isTerminal(1) else {
            throw .usage("`wallet app` needs a terminal; for programs there is `wallet drive`")
        }
        let events = WalletEventQueue()
        let phone = try self.options.phone(
            Phone.Behavior(asksPerson: true),
            report: events.report,
            observer: events.hear
        )
        let palette = Palette(environment: Environment.value)
        let terminal: FullScreen
        do throws(InputError) {
            terminal = try FullScreen(hasOwnScreen: palette.hasControl)
        } catch {
            throw .usage("this terminal cannot be used")
        }
        do throws(PhoneError) {
            try await TerminalApp(phone, receiving: events, on: terminal, palette).run(
                opening: self.link.map { IncomingLink($0) }
            )
        } catch {
            throw WalletCommandFailure(error)
        }
    }
}
