import ArgumentParser
internal import HostSystem
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet wipe`: local data gone at once, and the server told.
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete the wallet's data on this phone and tell the server.",
        discussion: """
            Needs no PIN. Where the server cannot be reached it is told at a later launch. At a terminal the command \
            asks first, unless --yes is given.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions

    @Flag(help: "Do not ask.")
    var yes = false

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app throws(WalletCommandFailure) in
            _ = try await app.launch()
            _ = try await app.open(.wipe)
            let action: ActionID = self.isConfirmed ? .yesDelete : .cancel
            let screen = try await app.perform(action)
            return await app.status(reached: action == .yesDelete && screen.step == "UC1.1/1.1")
        }
    }

    private var isConfirmed: Bool {
        guard !self.yes, Terminal.isTerminal(0) else { return true }
        StandardStreams.writeError("Do you want to delete all data? [y/N] ")
        return readLine(strippingNewline: true)?.lowercased().hasPrefix("y") ?? false
    }
}
