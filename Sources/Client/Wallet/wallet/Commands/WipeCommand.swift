import ArgumentParser
internal import HostSystem
internal import Phone
internal import WalletCore
internal import WalletFlows

/// `wallet wipe`.
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete the wallet's data on this phone and at the server.",
        discussion: """
            Needs no PIN. If the server cannot be reached, a later launch reports the deletion. At a terminal the \
            command asks for confirmation unless --yes is given.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup var output: WalletOutputOptions

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() async throws {
        try await AppSession.run(self.options, self.output) { app in
            _ = try await app.phone.launch()
            _ = try await app.phone.goTo(.wipe)
            let action: ActionID = self.isConfirmed ? .yesDelete : .cancel
            let screen = try await app.phone.tap(action)
            return await app.status(reached: action == .yesDelete && screen.step == "UC1.1/1.1")
        }
    }

    private var isConfirmed: Bool {
        guard !self.yes, Terminal.isTerminal(0) else { return true }
        StandardStreams.writeError("Do you want to delete all data? [y/N] ")
        return readLine(strippingNewline: true)?.lowercased().hasPrefix("y") ?? false
    }
}
