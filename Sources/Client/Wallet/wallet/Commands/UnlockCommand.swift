import ArgumentParser
internal import SimulatedPhone
internal import WalletFlows

struct UnlockCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the wallet with the PIN, or with biometrics if they are on.",
        discussion: """
            Each run that enters a PIN is one attempt, which the server counts before it checks the PIN.

            If biometrics are on, the phone answers their prompt first, according to --sensor or --biometric-hook. The \
            command enters the PIN if the app then asks for it.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the deletion code is written down, if the setup ended before that.")
    var codeWrittenDown = false

    func run() async throws {
        try await AppSession.run(self) { app in
            let pins = try self.pins.source()
            guard let screen = try await Unlocking.launchAndEnter(app, pins)?.screen else {
                return await app.status(reached: false)
            }
            _ = try await SetupCompletion.finish(app, from: screen, writtenDown: self.codeWrittenDown)
            let isUnlocked = await !app.phone.isLocked
            return await app.status(reached: isUnlocked)
        }
    }
}

/// The part of a command that launches the app and unlocks the wallet.
enum Unlocking {
    /// Launches the app, unlocks the wallet, and returns the screen and the PIN, if one was entered.
    ///
    /// Returns nil if the wallet was not unlocked by a biometric and the app does not ask for the PIN.
    static func launchAndEnter(_ app: AppSession, _ pins: PINSource) async throws -> (screen: Screen, pin: PINInput?)? {
        let screen = try await Self.launch(app)
        guard await app.phone.isLocked else { return (screen, nil) }
        guard screen.step == "UC2.3/1.3" else { return nil }
        let input = try AppSession.sixDigits(try pins.next("PIN: "))
        return (try await app.phone.perform(.enter(input)), input)
    }

    /// Launches the app, whose wallet must be set up, and continues to the PIN if a biometric is rejected.
    ///
    /// In safe mode, the PIN cannot replace the biometric (UC2.3/6), so the warning is the last screen.
    static func launch(_ app: AppSession) async throws -> Screen {
        let screen = try await app.phone.perform(.launch())
        guard screen.step != "UC1.1/1.1" else {
            throw WalletCommandFailure.usage("no wallet is set up in this home; set one up with `wallet setup`")
        }
        return try await Self.pastBiometric(app, from: screen)
    }

    /// Continues from a rejected biometric to the PIN; does nothing on any other screen.
    static func pastBiometric(_ app: AppSession, from screen: Screen) async throws -> Screen {
        var screen = screen
        if screen.step == "UC2.3/2.1" || screen.step == "UC2.3/4.1" || screen.step == "UC2.3/5.1" {
            screen = try await app.phone.perform(.tap(.close))
        }
        if screen.step == "UC2.3/5.2" { screen = try await app.phone.perform(.tap(.ok)) }
        return screen
    }
}
