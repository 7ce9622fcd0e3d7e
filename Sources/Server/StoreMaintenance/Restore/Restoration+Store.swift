internal import PINPolicy
internal import Vault
internal import Vocabulary
internal import WalletStore

// Checks and changes the staged store.
extension Restoration {
    func change(_ store: SQLiteWalletStore, _ plan: Plan) async throws -> Report {
        let inspection = try await store.inspect()
        guard inspection.damage.isEmpty else {
            throw RestoreFailure.unsound(self.parts.backup, inspection.damage)
        }
        let epochs = try await store.epochs()
        guard try await EpochRecords.areGenuine(epochs, by: self.parts.vault), epochs.count + 1 == plan.backupEpoch,
            inspection.latestEpoch <= plan.backupEpoch
        else { throw RestoreFailure.epochs(self.parts.backup) }
        try self.parts.stage(.openingValues)
        guard try await store.recordKeyFits() else { throw RestoreFailure.foreign(self.parts.backup) }
        let damaged = try await self.damagedWallets(of: store)
        try self.parts.stage(.openingEpoch)
        let number = plan.latestEpoch + 1
        let records = try await EpochRecords.next(
            number,
            self.parts.rule,
            at: self.parts.clock.now(),
            after: epochs,
            by: self.parts.vault
        )
        try await store.open(records)
        // The generation of the restored store must be later than any known to a log entry or a witness.
        let witnessed = self.parts.witnessed
        try await store.raiseGeneration(above: max(plan.logs.generation, witnessed.generation))
        _ = try await store.raiseWitnessStep(above: witnessed.step)
        try self.parts.stage(.replaying)
        var replayed = ReplayReport()
        for replay in plan.logs.replays {
            replayed = try await replay.carryOut(on: store, after: replayed)
        }
        return Report(
            epoch: number,
            wallets: inspection.wallets,
            replayed: replayed,
            damaged: try await self.end(damaged, in: store),
            takenAt: plan.takenAt,
            earlierRestores: plan.logs.earlierRestores,
            problem: plan.problem
        )
    }
}
