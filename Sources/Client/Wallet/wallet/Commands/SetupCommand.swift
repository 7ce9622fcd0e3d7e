import ArgumentParser
internal import SimulatedPhone
internal import WalletFlows

struct SetupCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Choose a PIN, register this wallet, and show its deletion code.",
        discussion: """
            The phone creates an attested hardware key, and the server registers it with the public key of the PIN. \
            The PIN never leaves the phone.

            If a face or finger is enrolled, the app offers biometric unlock. The command skips the offer, or accepts \
            it with --enable-biometrics; the phone then answers the prompt according to --sensor.

            With --pin-fd or --pin-file one line is enough and is entered twice; a second line is the repetition. The \
            deletion code is shown after each unlock until --code-written-down, here or at an unlock, confirms that it \
            is written down.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the shown deletion code is written down.")
    var codeWrittenDown = false

    @Flag(help: "Turn on biometric unlock if the app offers it.")
    var enableBiometrics = false

    func run() async throws {
        try await AppSession.run(self) { app in
            let pins = try self.pins.source()
            var screen = try await app.phone.perform(.launch())
            switch screen.step {
            case "UC1.1/1.1": screen = try await self.choosePIN(app, pins)
            case _:
                screen = try await Unlocking.pastBiometric(app, from: screen)
                let isLocked = await app.phone.isLocked
                guard !isLocked || screen.step == "UC2.3/1.3" else { return await app.status(reached: false) }
                guard await app.phone.setup != .done else {
                    throw WalletCommandFailure.usage(
                        "this wallet is already set up; delete it with `wallet wipe` first"
                    )
                }
                if isLocked {
                    let input = try AppSession.sixDigits(try pins.next("PIN: "))
                    screen = try await app.phone.perform(.enter(input))
                }
            }
            screen = try await SetupCompletion.finish(
                app,
                from: screen,
                writtenDown: self.codeWrittenDown,
                enablesBiometrics: self.enableBiometrics
            )
            let isUnlocked = await !app.phone.isLocked
            return await app.status(reached: isUnlocked && !SetupCompletion.offersBiometrics(screen))
        }
    }

    private func choosePIN(_ app: AppSession, _ pins: PINSource) async throws -> Screen {
        try await app.phone.perform(.tap(.skip))
        try await app.phone.perform(.tap(.next))
        let chosen = try pins.next("Choose a PIN of 6 digits: ")
        var screen = try await app.phone.perform(.enter(chosen))
        guard screen.step == "PF2.9/1.3" else { return screen }
        let repeated = try pins.again("The same PIN again: ")
        screen = try await app.phone.perform(.enter(repeated))
        return screen
    }
}

/// The part of the setup after the PIN has been chosen: biometrics, confirmation, and the deletion code.
enum SetupCompletion {
    /// Continues as far as possible.
    ///
    /// If the biometric is rejected, the setup stops at the offer to enable it.
    static func finish(
        _ app: AppSession,
        from screen: Screen,
        writtenDown: Bool,
        enablesBiometrics: Bool = false
    ) async throws -> Screen {
        var screen = screen
        if screen.step == "UC2.1/1.3" {
            screen = try await app.phone.perform(.tap(enablesBiometrics ? .enable : .skip))
        }
        if screen.step == "UC2.1/1.5" { screen = try await app.phone.perform(.tap(.next)) }
        if screen.step == "UC2.1/1.6", writtenDown {
            screen = try await app.phone.perform(.tap(.writtenDown))
        }
        return screen
    }

    /// Returns whether the setup has stopped at the offer to enable biometrics, after one was rejected.
    static func offersBiometrics(_ screen: Screen) -> Bool {
        screen.step == "UC2.1/1.3" || screen.step == "UC2.1/1.4"
    }
}
