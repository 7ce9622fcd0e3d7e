import ArgumentParser
internal import LoadEngine
internal import LoadFleet

/// Options for the wallets of a run.
struct FleetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Wallet file of 'pin-load provision'.", valueName: "file"),
        completion: .file()
    )
    var wallets: String

    @Flag(help: "Ignore the histories of earlier runs, after the server's store was restored from a backup.")
    var forgetHistories = false

    /// Opens the file for a server.
    func open(for target: Target) throws(PinLoadFailure) -> Fleet {
        do throws(FleetError) {
            let fleet = try Fleet.open(self.wallets, for: target.fingerprint)
            if self.forgetHistories { try fleet.forgetHistories() }
            return fleet
        } catch {
            throw PinLoadFailure(error)
        }
    }
}
