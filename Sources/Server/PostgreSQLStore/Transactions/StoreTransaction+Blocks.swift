internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Permanent blocks and their entries in the audit log, and the charges of restores.
extension StoreTransaction {
    /// Returns those of the next `limit` wallets that are in use and permanently blocked, but whose block is not noted
    /// as recorded.
    func unrecordedBlocks(after cursor: UInt64?, lookingAt limit: Int) throws -> UnrecordedBlocks {
        let rows = try self.run(
            """
            select w.id, w.record, v.place, r.id is not null
            from (\(Self.nextWallets)) v
            left join wallets w on w.id = v.id left join recorded_blocks r on r.id = v.id order by v.place
            """,
            [.after(cursor), .number(Int64(limit))]
        )
        // A damaged row is not judged; the damage is reported when its wallet is accessed.
        let wallets = (0..<rows.count).compactMap { at -> WalletID? in
            guard rows.flag(at, 3) == false, let wallet = rows.bytes(at, 0).flatMap({ WalletID($0) }),
                let narrow = rows.bytes(at, 1).flatMap({ NarrowRow(decoding: $0) }), narrow.state.revocation == nil,
                narrow.attempts(of: wallet, by: self.key)?.record.isBlockedPermanently == true
            else { return nil }
            return wallet
        }
        return UnrecordedBlocks(wallets: wallets, next: rows.nextPage(after: 2, limit))
    }

    /// Returns whether the wallet's block is noted as recorded.
    func isRecorded(blockOf wallet: WalletID) throws -> Bool {
        try self.run("select id from recorded_blocks where id = $1", [.bytes(wallet.bytes)]).count > 0
    }

    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        self.isOnRecord = true
        try self.run(
            "insert into recorded_blocks (id) select id from wallets where id = any($1) on conflict do nothing",
            [.byteArrays(wallets.map(\.bytes))]
        )
    }

    /// Permanently blocks the wallets that an audit log records as blocked.
    ///
    /// Returns the number of newly blocked wallets. Ignores unknown wallets, those that have ended, and those with
    /// damaged attempts, whose PINs are not judged.
    func blockPermanently(_ wallets: [WalletID]) throws -> Int {
        var blocked = 0
        for wallet in wallets.inLockOrder(\.self) {
            guard var values = try self.lockIntact(wallet), values.row.state.revocation == nil,
                values.attempts?.record.isBlockedPermanently == false
            else { continue }
            values.attempts?.record.blockPermanently()
            try self.keep(values)
            blocked += 1
        }
        try self.noteRecorded(blocksOf: wallets)
        return blocked
    }

    /// Appends epochs, and restarts the period for a first session, because sessions since the backup are unknown.
    ///
    /// The charge of an epoch also covers the commits that the store lacks.
    func open(_ epochs: [StoredEpoch]) throws {
        if !epochs.isEmpty { try self.account() }
        for epoch in epochs {
            let opened = PostgreSQLValue.number(epoch.openedAt.milliseconds)
            try self.run(
                "insert into epochs (number, rule, opened_at, mac) values ($1, $2, $3, $4)",
                [.number(Int64(epoch.number)), .text(epoch.rule.rawValue), opened, .bytes(epoch.mac)]
            )
            try self.run("update unopened set registered_at = greatest(registered_at, $1)", [opened])
        }
        try self.run("update facts set epoch = (select count(*) + 1 from epochs), lost_commits = false")
    }
}
