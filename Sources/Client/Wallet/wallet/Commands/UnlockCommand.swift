import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet unlock`: one entry of the PIN.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Open the wallet with its PIN, or with the biometric that is turned on.",
        discussion: """
            Each call that enters a PIN is one attempt. The server counts it before it looks at the PIN.

            Where biometrics are turned on the phone answers their prompt first, as --sensor or --biometric-hook says; the \
            PIN is entered when the app asks for it then.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the deletion code was written down, where the setup was left before.")
    var codeWrittenDown = false

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app throws(WalletCommandFailure) in
            let pins = try self.pins.source()
            guard let screen = try await Unlocking.launchAndEnter(app, pins) else {
                return await app.status(reached: false)
            }
            _ = try await SetupCompletion.finish(app, from: screen, writtenDown: self.codeWrittenDown)
            let isUnlocked = await !app.phone.isLocked
            return await app.status(reached: isUnlocked)
        }
    }
}

/// What the commands behind the PIN begin with.
enum Unlocking {
    /// Nil where no biometric opens the app and it does not come to ask for the PIN.
    static func launchAndEnter(_ app: AppSession, _ pins: PINSource) async throws(WalletCommandFailure) -> Screen? {
        let screen = try await Self.launch(app)
        guard await app.phone.isLocked else { return screen }
        guard screen.step == "UC2.3/1.3" else { return nil }
        let input = try AppSession.sixDigits(try pins.next("PIN: "))
        return try await app.enter(input)
    }

    /// Launches the app of a wallet that is set up, and past a biometric that was not accepted goes to the PIN.
    ///
    /// Safe mode has no such way (UC2.3/6): there it ends at the warning.
    static func launch(_ app: AppSession) async throws(WalletCommandFailure) -> Screen {
        let screen = try await app.launch()
        guard screen.step != "UC1.1/1.1" else {
            throw .usage("no wallet is set up here; `wallet setup` makes one")
        }
        return try await Self.pastBiometric(app, from: screen)
    }

    /// From a biometric that was not accepted to the PIN; any other screen stays.
    static func pastBiometric(_ app: AppSession, from screen: Screen) async throws(WalletCommandFailure) -> Screen {
        var screen = screen
        if screen.step == "UC2.3/2.1" || screen.step == "UC2.3/4.1" || screen.step == "UC2.3/5.1" {
            screen = try await app.perform(.close)
        }
        if screen.step == "UC2.3/5.2" {
            screen = try await app.perform(.ok)
        }
        return screen
    }
}
