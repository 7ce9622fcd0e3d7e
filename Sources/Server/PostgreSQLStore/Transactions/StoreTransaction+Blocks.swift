internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Permanent blocks and their entries in the audit log, and the charges of restores.
extension StoreTransaction {
    /// Returns permanently blocked wallets in use whose block is not noted as recorded, among the next `most` wallets.
    func unrecordedBlocks(after place: UInt64?, lookingAt most: Int) throws -> UnrecordedBlocks {
        let rows = try self.run(
            """
            select w.id, w.record, v.place, r.id is not null
            from (select id, place from wallet_values where place > $1 order by place limit $2) v
            join wallets w on w.id = v.id left join recorded_blocks r on r.id = v.id order by v.place
            """,
            [.number(place.map { Int64(bitPattern: $0) } ?? -1), .number(Int64(most))]
        )
        // A damaged row is not judged; an access to its wallet reports the damage.
        let wallets = (0..<rows.count).compactMap { at -> WalletID? in
            guard rows.flag(at, 3) == false, let wallet = rows.bytes(at, 0).flatMap({ WalletID($0) }),
                let narrow = rows.bytes(at, 1).flatMap({ NarrowRow(decoding: $0, of: wallet, by: self.key) }),
                narrow.attempts.record.isBlockedPermanently, narrow.state.revocation == nil
            else { return nil }
            return wallet
        }
        let last = rows.count == most ? rows.number(rows.count - 1, 2).map { UInt64(bitPattern: $0) } : nil
        return UnrecordedBlocks(wallets: wallets, next: last)
    }

    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        try self.run(
            "insert into recorded_blocks (id) select id from wallets where id = any($1) on conflict do nothing",
            [.byteArrays(wallets.map(\.bytes))]
        )
    }

    /// Appends epochs, and restarts the period for a first session: sessions since the backup are unknown.
    func open(_ epochs: [StoredEpoch]) throws {
        for epoch in epochs {
            let opened = PostgreSQLValue.number(epoch.openedAt.milliseconds)
            try self.run(
                "insert into epochs (number, rule, opened_at, mac) values ($1, $2, $3, $4)",
                [.number(Int64(epoch.number)), .text(epoch.rule.rawValue), opened, .bytes(epoch.mac)]
            )
            try self.run("update unopened set registered_at = greatest(registered_at, $1)", [opened])
        }
        try self.run("update facts set epoch = (select count(*) + 1 from epochs)")
    }
}
