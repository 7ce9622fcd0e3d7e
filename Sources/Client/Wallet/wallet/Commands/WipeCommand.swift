import ArgumentParser
internal import HostSystem
internal import SimulatedPhone
internal import WalletFlows

struct WipeCommand: OneShotCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete the wallet's data on this phone and at the server.",
        discussion: """
            Needs no PIN. If the server cannot be reached, a later launch reports the deletion. At a terminal the \
            command asks for confirmation unless --yes is given.

            If the wallet's files are damaged, the command deletes them without notifying the server. A damaged \
            profile of the phone is replaced by a new one first.
            """
    )

    @OptionGroup var options: WalletOptions
    @OptionGroup(title: DeviceOptions.title) var device: DeviceOptions
    @OptionGroup(title: HookOptions.title) var hooks: HookOptions
    @OptionGroup var output: WalletOutputOptions

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() async throws {
        var isConfirmed: Bool?
        try await AppSession.run(self, preparing: { try self.replaceDamagedProfile(&isConfirmed) }) { app in
            do throws(PhoneError) {
                try await app.phone.perform(.launch())
            } catch {
                guard error.needsReset else { throw error }
                return try await self.reset(app, isConfirmed ?? self.isConfirmed)
            }
            _ = try await app.phone.goTo(.wipe)
            let action: ActionID = isConfirmed ?? self.isConfirmed ? .yesDelete : .cancel
            let screen = try await app.phone.perform(.tap(action))
            return await app.status(reached: action == .yesDelete && screen.step == "UC1.1/1.1")
        }
    }

    /// Asks for confirmation and removes a profile that cannot be read; returns false if the user declines.
    private func replaceDamagedProfile(_ isConfirmed: inout Bool?) throws -> Bool {
        let home = try PhoneHome(self.options.home)
        guard let damage = home.profileDamage() else { return true }
        let confirmed = self.isConfirmed
        isConfirmed = confirmed
        guard confirmed else { return false }
        try home.removeProfile()
        StandardStreams.writeError("wallet: the phone's profile is replaced by a new one: \(damage)\n")
        return true
    }

    /// Deletes a wallet whose files are damaged.
    private func reset(_ app: AppSession, _ isConfirmed: Bool) async throws -> WalletExitStatus {
        guard isConfirmed else { return .cancelled }
        try await app.phone.reset()
        StandardStreams.writeError(
            "wallet: the data was damaged and is deleted; the server was not notified: use the deletion code to revoke "
                + "the wallet\n"
        )
        let screen = try await app.phone.perform(.launch())
        return await app.status(reached: screen.step == "UC1.1/1.1")
    }

    private var isConfirmed: Bool {
        guard !self.yes, Terminal.isTerminal(0) else { return true }
        StandardStreams.writeError("Do you want to delete all data? [y/N] ")
        return readLine(strippingNewline: true)?.lowercased().hasPrefix("y") ?? false
    }
}
