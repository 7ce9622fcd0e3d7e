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

            From --pin-fd or --pin-file one line is enough: the command enters it twice. A second line is the \
            repetition. The deletion code is shown again after each unlock until it is confirmed as written down with \
            --code-written-down, here or at an unlock.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the deletion code was written down, once it was shown.")
    var codeWrittenDown = false

    func run() async throws {
        try await AppLife.run(self.options, self.output) { life throws(CommandFailure) in
            let pins = try self.pins.source()
            var screen = try await life.launch()
            switch screen.step {
            case "UC1.1/1.1":
                screen = try await self.choosePIN(life, pins)
            case "UC2.3/1.3":
                guard await life.phone.setup != .done else {
                    throw .usage("this wallet is set up already; `wallet wipe` deletes it")
                }
                let input = try AppLife.sixDigits(try pins.next("PIN: "))
                screen = try await life.enter(input)
            case _:
                return await life.status(reached: false)
            }
            screen = try await SetupEnd.finish(life, from: screen, writtenDown: self.codeWrittenDown)
            let isUnlocked = await !life.phone.isLocked
            return await life.status(reached: isUnlocked)
        }
    }

    private func choosePIN(_ life: AppLife, _ pins: PINSource) async throws(CommandFailure) -> Screen {
        _ = try await life.perform(.skip)
        _ = try await life.perform(.next)
        let chosen = try pins.next("Choose a PIN of 6 digits: ")
        var screen = try await life.enter(chosen)
        guard screen.step == "PF2.9/1.3" else { return screen }
        let repeated = try pins.again("The same PIN again: ")
        screen = try await life.enter(repeated)
        return screen
    }
}

/// What is left of a setup once the PIN counts: a confirmation, and the deletion code.
enum SetupEnd {
    static func finish(_ life: AppLife, from screen: Screen, writtenDown: Bool) async throws(CommandFailure) -> Screen {
        var screen = screen
        if screen.step == "UC2.1/1.5" {
            screen = try await life.perform(.next)
        }
        if screen.step == "UC2.1/1.6", writtenDown {
            screen = try await life.perform(.writtenDown)
        }
        return screen
    }
}
