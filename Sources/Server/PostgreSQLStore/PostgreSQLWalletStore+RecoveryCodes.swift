package import Vocabulary
package import WalletStore

/// Denials of recovery codes, whose wallets cannot be found with an index.
extension PostgreSQLWalletStore {
    /// The number of wallets that one step of a search reads.
    static let searchedAtOnce = 10_000

    /// Denies the code first, and then searches for its wallets in pages, so that no lock is held for the whole search.
    ///
    /// If the process ends in between, the entry in the audit log is begun and its next start continues.
    package func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        at now: Timestamp
    ) async throws(StoreError) -> RecoveryCodeRevocationOutcome {
        let before = try await self.perform(.writing) { try $0.deny(recoveryCode: mac, at: now) }
        let linked = try await self.wallets(linkedTo: mac)
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        return RecoveryCodeRevocationOutcome(
            deniedAt: before ?? now,
            wasDenied: before != nil,
            linked: Set(linked),
            ended: try await self.end(linked, as: revocation, at: now).ended
        )
    }

    package func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID] {
        var (linked, cursor): ([WalletID], Int64?) = ([], .min)
        while let after = cursor {
            let page = try await self.perform(.reading) {
                try $0.wallets(linkedTo: mac, after: after, lookingAt: Self.searchedAtOnce)
            }
            linked += page.found
            cursor = page.next
        }
        return linked
    }
}
