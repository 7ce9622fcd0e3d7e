internal import PINPolicy
package import Vocabulary
package import WalletStore

extension PostgreSQLWalletStore: MaintenanceStore {
    package func announce(_ newest: StoredAuditMark) { self.announced.mark = newest }

    package func auditMark() async throws(StoreError) -> StoredAuditMark? {
        try await self.perform(.reading) { try $0.auditMark() }
    }

    package func keepAuditMark() async throws(StoreError) {
        try await self.perform(.writing) { $0.isOnRecord = true }
    }

    package func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        try await self.filter(wallets) { $0.row.state.revocation == nil }
    }

    package func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        try await self.filter(wallets) {
            $0.row.state.revocation == nil && $0.attempts?.record.isBlockedPermanently == false
        }
    }

    /// Returns the intact wallets that satisfy the condition.
    private func filter(
        _ wallets: [WalletID],
        _ condition: @escaping @Sendable (StoredValues) -> Bool
    ) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: Self.endedAtOnce) {
            found += try await self.perform(.reading) { transaction in
                let values = try transaction.session.wallets(page)
                return page.filter { (values[$0] ?? nil).map(condition) ?? false }
            }
        }
        return found
    }

    package func epochs() async throws(StoreError) -> [StoredEpoch] {
        try await self.perform(.reading) { try $0.session.epochs() }
    }

    package func open(_ epochs: [StoredEpoch]) async throws(StoreError) {
        try await self.perform(.changingFacts) { try $0.open(epochs) }
    }

    package func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet] {
        try await self.perform(.reading) { try $0.sealedValues(after: after, limit: limit) }
    }

    package func replace(_ values: [SealedReplacement]) async throws(StoreError) {
        try await self.perform(.writing) { try $0.replace(values) }
    }

    /// Returns false: every server that wrote this schema records the ends of wallets.
    package func purgeable(
        after: UInt64?,
        lookingAt limit: Int,
        endedBefore time: Timestamp
    ) async throws(StoreError) -> Purgeable {
        try await self.perform(.reading) { try $0.purgeable(after: after, lookingAt: limit, endedBefore: time) }
    }

    package func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int {
        try await self.perform(.writing) { try $0.purge(wallets, endedBefore: limit) }
    }

    package func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int {
        var blocked = 0
        for page in wallets.pieces(of: Self.endedAtOnce) {
            blocked += try await self.perform(.writing) { try $0.blockPermanently(page) }
        }
        return blocked
    }

    package func vaultVersions() async throws(StoreError) -> [StoredVaultVersion] {
        try await self.perform(.reading) { try $0.vaultVersions() }
    }

    package func note(
        vaultVersion version: UInt32,
        check: [UInt8],
        at now: Timestamp
    ) async throws(StoreError) -> [StoredVaultVersion] {
        try await self.perform(.writing) { try $0.note(vaultVersion: version, check: check, at: now) }
    }

    package func noteSealedAnew(vaultVersion version: UInt32, at now: Timestamp?) async throws(StoreError) {
        try await self.perform(.writing) { try $0.noteSealedAnew(vaultVersion: version, at: now) }
    }

    package func walletCount() async throws(StoreError) -> Int {
        try await self.perform(.reading) { try $0.walletCount() }
    }

    package func beginShareRefresh(at now: Timestamp) async throws(StoreError) {
        try await self.perform(.writing) { try $0.beginShareRefresh(at: now) }
    }

    package func walletsToRefresh(limit: Int) async throws(StoreError) -> [RefreshableWallet]? {
        try await self.perform(.reading) { try $0.walletsToRefresh(limit: limit) }
    }

    package func offer(_ shares: [OfferedShares]) async throws(StoreError) {
        try await self.perform(.writing) { try $0.offer(shares) }
    }

    package func unconfirmedShares() async throws(StoreError) -> Int {
        try await self.perform(.reading) { try $0.unconfirmedShares() }
    }

    package func recordKeyFits() async throws(StoreError) -> Bool {
        try await self.perform(.reading) { try $0.recordKeyFits() }
    }

    package func checkRecords(after: UInt64?, limit: Int) async throws(StoreError) -> RecordCheck {
        try await self.perform(.reading) { try $0.checkRecords(after: after, limit: limit) }
    }
}
