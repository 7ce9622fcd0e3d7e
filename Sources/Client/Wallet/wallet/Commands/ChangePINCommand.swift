import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet change-pin`: the old PIN pays for the new one.
struct ChangePINCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change-pin",
        abstract: "Replace the PIN by another one.",
        discussion: """
            From --pin-fd or --pin-file the first line is the old PIN, the second the new one; a third is the new one's \
            repetition. Whatever happens meanwhile, exactly one of the two works afterwards.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app throws(WalletCommandFailure) in
            let pins = try self.pins.source()
            guard let old = try await ProtectedAction.open(.changePIN, app, pins) else {
                return await app.status(reached: false)
            }
            guard old.step == "PF2.9/1.1" else { return await app.status(reached: false) }
            let new = try pins.next("New PIN of 6 digits: ")
            var screen = try await app.enter(new)
            if screen.step == "PF2.9/1.3" {
                let repeated = try pins.again("The same PIN again: ")
                screen = try await app.enter(repeated)
            }
            return await app.status(reached: screen.step == "UC2.6/1.3")
        }
    }
}

/// `wallet show-deletion-code`: the code once more, for its PIN.
struct ShowDeletionCodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show-deletion-code",
        abstract: "Show the deletion code once more."
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app throws(WalletCommandFailure) in
            let pins = try self.pins.source()
            let screen = try await ProtectedAction.open(.deletionCode, app, pins)
            return await app.status(reached: screen?.step == "UC9.12/1.2")
        }
    }
}

/// ProtectedAction actions ask for the PIN twice in one app of the app: to unlock, where no biometric does, and to confirm (PF2.4).
enum ProtectedAction {
    /// Unlocks, opens `destination` and confirms it with the same PIN; nil where unlocking did not succeed.
    static func open(
        _ destination: AppDestination,
        _ app: AppSession,
        _ pins: PINSource
    ) async throws(WalletCommandFailure) -> Screen? {
        let screen = try await Unlocking.launch(app)
        let isLocked = await app.phone.isLocked
        guard !isLocked || screen.step == "UC2.3/1.3" else { return nil }
        let pin = try AppSession.sixDigits(try pins.next("PIN: "))
        if isLocked {
            _ = try await app.enter(pin)
            guard await !app.phone.isLocked else { return nil }
        }
        // Safe mode's prompt before a change of the PIN may be refused.
        let opened = try await app.open(destination)
        guard opened.step == "PF2.4/1.1" else { return opened }
        return try await app.enter(pin.enteredAgain())
    }
}
