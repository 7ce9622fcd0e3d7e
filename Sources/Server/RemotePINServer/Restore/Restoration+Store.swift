internal import PINPolicy
internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore

// What is looked at and changed in the staged store.
extension Restoration {
    /// Wallets whose values are opened at a time.
    private static let openedAtOnce = 500

    func change(_ store: SQLiteWalletStore, _ plan: Plan) async throws(RestoreFailure) -> Report {
        let inspection = try await stepped { () throws(StoreError) in try await store.inspect() }
        guard inspection.damage.isEmpty, inspection.foreign.isEmpty else {
            throw .unsound(self.parts.backup, inspection.damage + inspection.foreign)
        }
        let epochs = try await stepped { () throws(StoreError) in try await store.epochs() }
        guard try await self.areGenuine(epochs), epochs.count + 1 == plan.backupEpoch,
            inspection.latestEpoch <= plan.backupEpoch
        else { throw .epochs(self.parts.backup) }
        try self.parts.stage(.openingValues)
        try await self.openEveryValue(of: store)
        try self.parts.stage(.openingEpoch)
        let number = plan.latestEpoch + 1
        let records: [StoredEpoch]
        do throws(VaultError) {
            records = try await EpochRecords.next(
                number,
                self.parts.rule,
                at: self.parts.clock.now(),
                after: epochs,
                by: self.parts.vault
            )
        } catch {
            throw .vault
        }
        try await stepped { () throws(StoreError) in try await store.open(records) }
        try self.parts.stage(.replaying)
        var replayed = ReplayReport()
        for replay in plan.logs.replays {
            replayed = try await stepped { () throws(StoreError) in
                try await replay.carryOut(on: store, after: replayed)
            }
        }
        return Report(
            epoch: number,
            wallets: inspection.wallets,
            replayed: replayed,
            takenAt: plan.takenAt,
            problem: plan.problem
        )
    }

    private func areGenuine(_ epochs: [StoredEpoch]) async throws(RestoreFailure) -> Bool {
        do throws(VaultError) {
            return try await EpochRecords.areGenuine(epochs, by: self.parts.vault)
        } catch {
            throw .vault
        }
    }

    /// Opens all that the vault sealed, so that a key file of another time is found now and not wallet by wallet.
    private func openEveryValue(of store: SQLiteWalletStore) async throws(RestoreFailure) {
        var after: UInt64?
        while true {
            let place = after
            let wallets = try await stepped { () throws(StoreError) in
                try await store.sealedValues(after: place, limit: Self.openedAtOnce)
            }
            for wallet in wallets { try await self.open(wallet) }
            guard wallets.count == Self.openedAtOnce, let last = wallets.last else { return }
            after = last.place
        }
    }

    private func open(_ wallet: SealedWallet) async throws(RestoreFailure) {
        do throws(VaultError) {
            for (field, sealed) in wallet.values.byField {
                _ = try await self.parts.vault.unseal(sealed, as: field, of: wallet.walletID)
            }
        } catch {
            switch error {
            case .notOurs: throw .sealed(wallet: wallet.walletID.description)
            case .unreachable: throw .vault
            }
        }
    }
}

/// A store's failure as a restore's.
private func stepped<Result>(_ step: () async throws(StoreError) -> Result) async throws(RestoreFailure) -> Result {
    do throws(StoreError) { return try await step() } catch { throw .step(error) }
}
