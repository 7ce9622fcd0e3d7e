internal import PINPolicy
internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore

// What is looked at and changed in the staged store.
extension Restoration {
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
        let damaged = try await self.damagedWallets(of: store)
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
            damaged: try await self.end(damaged, in: store),
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
}

/// A store's failure as a restore's.
func stepped<Result>(_ step: () async throws(StoreError) -> Result) async throws(RestoreFailure) -> Result {
    do throws(StoreError) { return try await step() } catch { throw .step(error) }
}
