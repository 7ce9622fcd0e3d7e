import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet setup`: from the introduction to the deletion code.
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Choose a PIN, register this wallet, and show its deletion code.",
        discussion: """
            The phone makes a key in its hardware and has it attested; the server registers it with the PIN's public \
            key. The PIN itself never leaves the phone.

            On a phone that knows a face or finger the app offers to unlock with it: that is skipped, or with \
            --enable-biometrics turned on, and the phone answers its prompt as --sensor says.

            From --pin-fd or --pin-file one line is enough: the command enters it twice. A second line is the \
            repetition. The deletion code is shown again after each unlock until it is confirmed as written down with \
            --code-written-down, here or at an unlock.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the deletion code was written down, once it was shown.")
    var codeWrittenDown = false

    @Flag(help: "Turn on biometric unlock where it is offered; without this it is skipped.")
    var enableBiometrics = false

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app throws(WalletCommandFailure) in
            let pins = try self.pins.source()
            var screen = try await app.launch()
            switch screen.step {
            case "UC1.1/1.1":
                screen = try await self.choosePIN(app, pins)
            case _:
                screen = try await Unlocking.pastBiometric(app, from: screen)
                let isLocked = await app.phone.isLocked
                guard !isLocked || screen.step == "UC2.3/1.3" else { return await app.status(reached: false) }
                guard await app.phone.setup != .done else {
                    throw .usage("this wallet is set up already; `wallet wipe` deletes it")
                }
                if isLocked {
                    let input = try AppSession.sixDigits(try pins.next("PIN: "))
                    screen = try await app.enter(input)
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

    private func choosePIN(_ app: AppSession, _ pins: PINSource) async throws(WalletCommandFailure) -> Screen {
        _ = try await app.perform(.skip)
        _ = try await app.perform(.next)
        let chosen = try pins.next("Choose a PIN of 6 digits: ")
        var screen = try await app.enter(chosen)
        guard screen.step == "PF2.9/1.3" else { return screen }
        let repeated = try pins.again("The same PIN again: ")
        screen = try await app.enter(repeated)
        return screen
    }
}

/// What is left of a setup once the PIN counts: the biometric, a confirmation, and the deletion code.
enum SetupCompletion {
    /// Goes on as far as it can; a biometric that is refused leaves it where that is offered.
    static func finish(
        _ app: AppSession,
        from screen: Screen,
        writtenDown: Bool,
        enablesBiometrics: Bool = false
    ) async throws(WalletCommandFailure) -> Screen {
        var screen = screen
        if screen.step == "UC2.1/1.3" {
            screen = try await app.perform(enablesBiometrics ? .enable : .skip)
        }
        if screen.step == "UC2.1/1.5" {
            screen = try await app.perform(.next)
        }
        if screen.step == "UC2.1/1.6", writtenDown {
            screen = try await app.perform(.writtenDown)
        }
        return screen
    }

    /// Whether the setup still waits for a biometric: the one held to the phone was not accepted.
    static func offersBiometrics(_ screen: Screen) -> Bool {
        screen.step == "UC2.1/1.3" || screen.step == "UC2.1/1.4"
    }
}
