package import Vocabulary

/// Writes the attempt records of wallets in the form that this program writes.
///
/// A change of the schema cannot do this: a record has a MAC, and to change all of them in one transaction would stop
/// PIN checks. Each of these steps covers some wallets, and one that is repeated changes nothing.
package struct RewriteRecords: StoreStep {
    let wallets: [WalletID]
    package static let access = StepAccess.writing

    package init(_ wallets: [WalletID]) { self.wallets = wallets }

    /// Widens the records in an earlier form.
    ///
    /// A damaged record stays as it is, so that any access to it reports the damage. A record in a later form stays,
    /// too: another server of a rolling upgrade wrote it, and its further fields would be lost.
    package func run(in rows: some Rows) throws {
        for wallet in self.wallets.inLockOrder(\.self) {
            guard var held = try rows.holdIntact(wallet, with: .attempts), let form = held.wallet.attempts?.form,
                form < rows.key.form
            else { continue }
            held.wallet.attempts?.form = rows.key.form
            try rows.keep(held, .attempts)
        }
    }
}

extension WalletStore {
    /// Checks wallets like ``damagedWallets(after:limit:)``, and rewrites their records that have an earlier form.
    ///
    /// Walked over all wallets, it ends with no record in an earlier form, however often the walk was interrupted.
    package func checkRecords(after: UInt64?, limit: Int) async throws(StoreError) -> WalletPage<WalletID> {
        let checked = try await self.perform(DamagedWallets(after: after, limit: limit))
        if !checked.earlier.isEmpty { try await self.perform(RewriteRecords(checked.earlier)) }
        return checked.damaged
    }
}
