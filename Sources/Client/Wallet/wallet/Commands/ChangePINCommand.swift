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
    @OptionGroup var output: OutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppLife.run(self.options, self.output) { life throws(CommandFailure) in
            let pins = try self.pins.source()
            guard let old = try await Protected.open(.changePIN, life, pins) else {
                return await life.status(reached: false)
            }
            guard old.step == "PF2.9/1.1" else { return await life.status(reached: false) }
            let new = try pins.next("New PIN of 6 digits: ")
            var screen = try await life.enter(new)
            if screen.step == "PF2.9/1.3" {
                let repeated = try pins.again("The same PIN again: ")
                screen = try await life.enter(repeated)
            }
            return await life.status(reached: screen.step == "UC2.6/1.3")
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
    @OptionGroup var output: OutputOptions
    @OptionGroup var pins: PINOptions

    func run() async throws {
        try await AppLife.run(self.options, self.output) { life throws(CommandFailure) in
            let pins = try self.pins.source()
            let screen = try await Protected.open(.deletionCode, life, pins)
            return await life.status(reached: screen?.step == "UC9.12/1.2")
        }
    }
}

/// Protected actions ask for the PIN twice in one life of the app: to unlock, where no biometric does, and to confirm (PF2.4).
enum Protected {
    /// Unlocks, opens `destination` and confirms it with the same PIN; nil where unlocking did not succeed.
    static func open(
        _ destination: AppDestination,
        _ life: AppLife,
        _ pins: PINSource
    ) async throws(CommandFailure) -> Screen? {
        let screen = try await Unlocking.launch(life)
        let isLocked = await life.phone.isLocked
        guard !isLocked || screen.step == "UC2.3/1.3" else { return nil }
        let pin = try AppLife.sixDigits(try pins.next("PIN: "))
        if isLocked {
            _ = try await life.enter(pin)
            guard await !life.phone.isLocked else { return nil }
        }
        // Safe mode's prompt before a change of the PIN may be refused.
        let opened = try await life.open(destination)
        guard opened.step == "PF2.4/1.1" else { return opened }
        return try await life.enter(pin.enteredAgain())
    }
}
