extension WalletStore {
    /// Replaces a wallet's shares with the next ones, which it has sealed its data with, and destroys the old ones.
    package func confirm(
        _ confirmation: ShareConfirmation
    ) async throws(StoreError) -> ShareConfirmationOutcome {
        try await self.perform(confirmation)
    }

    /// Replaces sealed values with newly sealed ones.
    ///
    /// Wallets whose values have changed in the meantime are skipped.
    package func replace(_ values: [SealedReplacement]) async throws(StoreError) {
        try await self.perform(ReplaceSealedValues(values: values))
    }
}

extension ShareConfirmation: StoreStep {
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> ShareConfirmationOutcome {
        guard var held = try rows.hold(self.walletID, with: .nextShares) else { throw StoreError.corrupt }
        let outcome = held.wallet.confirm(self, rows.facts)
        guard outcome == .replaced else { return outcome }
        try rows.keep(held, [.row, .nextShares])
        rows.noteDestroyed()  // rule: shares-replaced-stay-in-log
        return outcome
    }
}

/// Replaces sealed values after comparing each old value with the stored one, so that no change made in the meantime
/// is lost.
package struct ReplaceSealedValues: StoreStep {
    let values: [SealedReplacement]
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws {
        for replacement in self.values.inLockOrder(\.walletID) {
            // rule: store-resealing-undoes-changes
            guard var held = try rows.holdIntact(replacement.walletID, with: .nextShares),
                held.wallet.row.sealedValues(with: held.wallet.next) == replacement.old,
                held.wallet.row.take(replacement.new)
            else { continue }
            var changed = WalletParts.row
            // Without next shares it gets none: their row would be inserted out of order (``WalletKey``).
            if let next = replacement.new.shares?.next, !held.wallet.next.isEmpty {
                held.wallet.next = next
                changed.insert(.nextShares)
            }
            try rows.keep(held, changed)
        }
    }
}
