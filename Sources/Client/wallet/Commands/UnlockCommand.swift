import ArgumentParser
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet unlock`: one entry of the PIN.
struct UnlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Open the wallet with its PIN.",
        discussion: "Each call is one attempt. The server counts it before it looks at the PIN."
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var pins: PINOptions

    @Flag(help: "Confirm that the deletion code was written down, where the setup was left before.")
    var codeWrittenDown = false

    func run() async throws {
        try await AppLife.run(self.options, self.output) { life throws(CommandFailure) in
            let pins = try self.pins.source()
            guard let screen = try await Unlocking.launchAndEnter(life, pins) else {
                return await life.status(reached: false)
            }
            _ = try await SetupEnd.finish(life, from: screen, writtenDown: self.codeWrittenDown)
            let isUnlocked = await !life.phone.isLocked
            return await life.status(reached: isUnlocked)
        }
    }
}

/// What the commands behind the PIN begin with.
enum Unlocking {
    /// Nil where the app does not come to ask for the PIN.
    static func launchAndEnter(_ life: AppLife, _ pins: PINSource) async throws(CommandFailure) -> Screen? {
        let screen = try await life.launch()
        guard screen.step != "UC1.1/1.1" else {
            throw .usage("no wallet is set up here; `wallet setup` makes one")
        }
        guard screen.step == "UC2.3/1.3" else { return nil }
        let input = try AppLife.sixDigits(try pins.next("PIN: "))
        return try await life.enter(input)
    }
}
