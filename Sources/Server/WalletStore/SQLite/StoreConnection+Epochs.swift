internal import GRDB
import PINPolicy
import Vocabulary

/// Restore charges, which are applied to each wallet when its next PIN is judged.
///
/// Invariant (G3): if a wallet's row names an epoch earlier than the store's, the wallet is judged as if the rules of
/// all epochs since then had been applied. The commit that applies a charge also writes the new epoch, so a charge is
/// neither forgotten nor applied twice. That commit is the same for every verdict.
extension StoreConnection {
    /// Applies the charges that the wallet's counts do not include yet.
    ///
    /// Returns whether any charge applied. Except for a wallet's first attempt after a restore, this only compares two
    /// numbers.
    func enterEpoch(_ found: inout Attempted, policy: AttemptPolicy) throws -> Bool {
        guard found.row.state.epoch != self.epoch else { return false }
        return found.attempts.enter(try self.charges(after: found.row.state), policy: policy)
    }

    /// Returns the charges that a wallet's counts do not include yet.
    ///
    /// Throws if the wallet comes from another file.
    func charges(after state: WalletState) throws -> ArraySlice<EpochCharge> {
        try state.missing(of: self.epochCharges)
    }

    /// Writes the store's epoch to the wallet's row, because the wallet's attempts have been charged up to that epoch.
    func nameEpoch(of wallet: WalletID) throws {
        guard var row = try self.wallet(wallet) else { throw StoreError.corrupt }
        row.state.epoch = self.epoch
        try self.keep(row)
    }

    /// Returns every epoch except the first, in order and without gaps.
    func epochs() throws -> [StoredEpoch] {
        let rows = try Row.fetchAll(
            self.db,
            sql: "SELECT number, rule, opened_at, mac FROM epochs ORDER BY number"
        )
        let epochs = try rows.map { row in
            guard let rule = String.fromDatabaseValue(row[1]).flatMap(EpochRule.init(rawValue:)) else {
                throw StoreError.corrupt
            }
            return StoredEpoch(
                number: Int(try row.number(0)),
                rule: rule,
                openedAt: Timestamp(milliseconds: try row.number(2)),
                mac: try row.bytes(3)
            )
        }
        guard epochs.map(\.number) == epochs.indices.map({ $0 + 2 }) else { throw StoreError.corrupt }
        return epochs
    }

    /// Appends epochs.
    func open(_ epochs: [StoredEpoch]) throws {
        for epoch in epochs {
            try self.db.execute(
                sql: "INSERT INTO epochs (number, rule, opened_at, mac) VALUES (?, ?, ?, ?)",
                arguments: [epoch.number, epoch.rule.rawValue, epoch.openedAt.milliseconds, epoch.mac.blob]
            )
            // Restart the period for the first session, because sessions opened since the backup are unknown.
            try self.db.execute(
                sql: "UPDATE unopened SET registered_at = max(registered_at, ?)",
                arguments: [epoch.openedAt.milliseconds]
            )
        }
        try self.readEpochs()
    }
}
