import ArgumentParser
internal import SimulatedPhone
internal import Vocabulary
internal import WalletFlows

struct OpenCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "open",
        abstract: "Launch the app and show its first screen."
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions

    func run() async throws {
        try await AppSession.run(self) { app in
            try await app.phone.perform(.launch())
            return await app.status(reached: true)
        }
    }
}

struct StatusCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Launch the app and show the state of this wallet.",
        discussion: "The first screen shows the server's status of the wallet, such as a revocation and its reason."
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions

    func run() async throws {
        try await AppSession.run(self) { app in
            try await app.phone.perform(.launch())
            let setup = await app.phone.setup
            let walletID = await app.phone.walletID?.description
            var rows = [("setup", (setup ?? .notStarted).rawValue)]
            if let walletID { rows.append(("walletID", walletID)) }
            rows += [
                ("server", app.phone.serverAddress),
                ("platform", app.phone.device.platform.rawValue),
                ("appVersion", app.phone.device.appVersion),
            ]
            app.printer.printRows(rows)
            app.printer.printEvent("status", Dictionary(uniqueKeysWithValues: rows.map { ($0, Screen.Value.text($1)) }))
            return await app.status(reached: true)
        }
    }
}
