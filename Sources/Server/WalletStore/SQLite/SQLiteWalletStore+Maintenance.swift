package import Vocabulary

extension SQLiteWalletStore: MaintenanceStore {
    /// The maximum number of wallets ended by one step, so that PIN checks do not wait long.
    private static let endedAtOnce = 500

    /// Raises the generation above the given one.
    ///
    /// Used by a restore.
    package func raiseGeneration(above other: UInt64) async throws(StoreError) {
        try await self.queue.perform { try $0.raiseGeneration(above: other) }
    }

    /// Returns the number of requests made to the witness.
    package func witnessStep() async throws(StoreError) -> UInt64 {
        try await self.queue.perform { try $0.witnessStep() }
    }

    /// Raises the number of witness requests above both its current value and `other`, and returns it.
    package func raiseWitnessStep(above other: UInt64 = 0) async throws(StoreError) -> UInt64 {
        try await self.queue.perform { try $0.raiseWitnessStep(above: other) }
    }

    package func auditMark() async throws(StoreError) -> StoredAuditMark? {
        try await self.queue.perform { try $0.auditMark() }
    }

    package func keepAuditMark() async throws(StoreError) {
        try await self.queue.perform { try $0.keepAuditMark() }
    }

    package func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: Self.endedAtOnce) {
            found += try await self.queue.perform { try $0.inUse(page) }
        }
        return found
    }

    package func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: Self.endedAtOnce) {
            found += try await self.queue.perform { connection in try page.filter { try connection.isUnblocked($0) } }
        }
        return found
    }

    package func epochs() async throws(StoreError) -> [StoredEpoch] {
        try await self.queue.perform { try $0.epochs() }
    }

    package func open(_ epochs: [StoredEpoch]) async throws(StoreError) {
        try await self.queue.perform { try $0.open(epochs) }
    }

    /// Checks the whole file, which takes as long as reading it.
    ///
    /// Must not be called while wallets are served.
    package func inspect() async throws(StoreError) -> StoreInspection {
        try await self.queue.perform { try $0.inspect() }
    }

    package func end(
        _ wallets: [WalletID],
        as revocation: Revocation,
        at now: Timestamp
    ) async throws(StoreError) -> WalletsEnding {
        var ending = WalletsEnding()
        for page in wallets.pieces(of: Self.endedAtOnce) {
            let done = try await self.queue.perform { try $0.end(page, as: revocation, at: now) }
            ending.ended += done.ended
            ending.before += done.before
            ending.unknown += done.unknown
        }
        return ending
    }

    package func purgeable(
        after: UInt64?,
        lookingAt limit: Int,
        endedBefore time: Timestamp
    ) async throws(StoreError) -> Purgeable {
        try await self.queue.perform { try $0.purgeable(after: after, lookingAt: limit, endedBefore: time) }
    }

    package func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int {
        var purged = 0
        for page in wallets.pieces(of: StoreConnection.removedAtOnce) {
            purged += try await self.queue.perform { try $0.purge(page, endedBefore: limit) }
        }
        return purged
    }

    package func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int {
        var blocked = 0
        for page in wallets.pieces(of: Self.endedAtOnce) {
            blocked += try await self.queue.perform { try $0.blockPermanently(page) }
        }
        return blocked
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

    package func beginShareRefresh(at now: Timestamp) async throws(StoreError) {
        try await self.queue.perform { try $0.beginShareRefresh(at: now) }
    }

    package func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]? {
        try await self.queue.perform { try $0.walletsToRefresh(limit: limit) }
    }

    package func offer(_ shares: [OfferedShares]) async throws(StoreError) {
        try await self.queue.perform { try $0.offer(shares) }
    }

    package func unconfirmedShares() async throws(StoreError) -> Int {
        try await self.queue.perform { try $0.unconfirmedShares() }
    }

    package func recordKeyFits() async throws(StoreError) -> Bool {
        try await self.queue.perform { try $0.recordKeyFits() }
    }

    package func checkRecords(after: UInt64?, limit: Int) async throws(StoreError) -> RecordCheck {
        try await self.queue.perform { try $0.checkRecords(after: after, limit: limit) }
    }

    package func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet] {
        try await self.queue.perform { try $0.sealedValues(after: after, limit: limit) }
    }

    package func replace(_ values: [SealedReplacement]) async throws(StoreError) {
        try await self.queue.perform { try $0.replace(values) }
    }
}
