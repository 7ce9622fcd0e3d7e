package import Vocabulary

extension SQLiteWalletStore: MaintenanceStore {
    /// Wallets ended by one step, so that PIN checks do not wait long.
    private static let endedAtOnce = 500

    package func epochs() async throws(StoreError) -> [StoredEpoch] {
        try await self.queue.perform { try $0.epochs() }
    }

    package func open(_ epochs: [StoredEpoch]) async throws(StoreError) {
        try await self.queue.perform { try $0.open(epochs) }
    }

    package func inspect() async throws(StoreError) -> StoreInspection {
        try await self.queue.perform { try $0.inspect() }
    }

    package func end(
        _ wallets: [WalletID],
        as revocation: Revocation,
        at now: Timestamp
    ) async throws(StoreError) -> WalletsEnding {
        var ending = WalletsEnding()
        for some in wallets.pieces(of: Self.endedAtOnce) {
            let done = try await self.queue.perform { try $0.end(some, as: revocation, at: now) }
            ending.ended += done.ended
            ending.before += done.before
            ending.unknown += done.unknown
        }
        return ending
    }

    package func findEarlierEnds(lookingAt most: Int) async throws(StoreError) -> Bool {
        try await self.queue.perform { try $0.findEarlierEnds(lookingAt: most) }
    }

    package func purgeable(
        after: UInt64?,
        lookingAt most: Int,
        endedBefore limit: Timestamp
    ) async throws(StoreError) -> Purgeable {
        try await self.queue.perform { try $0.purgeable(after: after, lookingAt: most, endedBefore: limit) }
    }

    package func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.purge(wallets, endedBefore: limit) }
    }

    package func vaultVersions() async throws(StoreError) -> [StoredVaultVersion] {
        try await self.queue.perform { try $0.vaultVersions() }
    }

    package func note(
        vaultVersion version: UInt32,
        check: [UInt8],
        at now: Timestamp
    ) async throws(StoreError) -> [StoredVaultVersion] {
        try await self.queue.perform { try $0.note(vaultVersion: version, check: check, at: now) }
    }

    package func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError) {
        try await self.queue.perform { try $0.noteSealedAnew(vaultVersion: version, at: now) }
    }

    package func walletCount() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.walletCount() }
    }

    package func adoptRecords() async throws(StoreError) -> RecordAdoption {
        try await self.queue.perform { try $0.adoptRecords() }
    }

    package func checkRecords(after: UInt64?, most: Int) async throws(StoreError) -> RecordCheck {
        try await self.queue.perform { try $0.checkRecords(after: after, most: most) }
    }

    package func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet] {
        try await self.queue.perform { try $0.sealedValues(after: after, limit: limit) }
    }

    package func replace(_ values: [SealedReplacement]) async throws(StoreError) {
        try await self.queue.perform { try $0.replace(values) }
    }
}
