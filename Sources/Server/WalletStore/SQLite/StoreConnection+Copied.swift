internal import GRDB
import PINPolicy
import Vocabulary

/// Reads the store's contents for a copy into another kind of store, and marks a store that was moved there.
///
/// Invariant (G3): a store that was moved is never served again, because its counts are those at the time of the copy.
/// It is marked by the file's application id, which every server reads before it opens the file.
extension StoreConnection {
    /// The operator value that names the copy this store was moved to.
    ///
    /// It is not copied itself.
    private static let movedTo = "store.moved-to"

    func copiedFacts() throws -> CopiedFacts {
        var values = try self.operatorValues()
        values.values[Self.movedTo] = nil
        let refresh = try Row.fetchOne(self.db, sql: "SELECT begun_at, place, last FROM share_refresh")
        return CopiedFacts(
            isSolutionRevoked: self.isSolutionRevoked,
            operatorValues: values,
            epochs: try self.epochs(),
            vaultVersions: try self.vaultVersions(),
            refresh: try refresh.map { row in
                CopiedFacts.Refresh(
                    begunAt: Timestamp(milliseconds: try row.number(0)),
                    cursor: try row.number(1),
                    last: try row.number(2)
                )
            }
        )
    }

    func copiedEntries(of list: CopiedList, after key: [UInt8]?, limit: Int) throws -> [CopiedEntry] {
        let (table, column, at) =
            switch list {
            case .deniedRecoveryCodes: ("denied_recovery_codes", "mac", "denied_at")
            case .barredHardwareKeys: ("barred_hardware_keys", "digest", "0")
            case .purgedCodes: ("purged_codes", "digest", "revoked_at")
            }
        return try Row.fetchAll(
            self.db,
            sql: "SELECT \(column), \(at) FROM \(table) WHERE \(column) > ? ORDER BY \(column) LIMIT ?",
            arguments: [(key ?? []).blob, limit]
        ).map { CopiedEntry(key: try $0.bytes(0), at: Timestamp(milliseconds: try $0.number(1))) }
    }

    func copiedWallets(after cursor: Int64?, limit: Int) throws -> CopiedPage {
        let rows = try Row.fetchAll(
            self.db,
            sql: """
                SELECT w.key, w.state, w.pin_key_id, w.unlock_share, w.identity, w.presence_share, w.deletion_code,
                    w.recovery_mac, w.hardware_key, w.id, record, n.unlock_share, n.presence_share, w.deletion_digest,
                    w.registered_at, attested, u.registered_at, e.at, s.at, b.wallet IS NOT NULL
                FROM wallets w
                LEFT JOIN attempts ON attempts.wallet = w.key
                LEFT JOIN next_shares n ON n.wallet = w.key
                LEFT JOIN attestations ON attestations.wallet = w.key
                LEFT JOIN unopened u ON u.wallet = w.key
                LEFT JOIN ended e ON e.wallet = w.key
                LEFT JOIN last_sessions s ON s.wallet = w.key
                LEFT JOIN recorded_blocks b ON b.wallet = w.key
                WHERE w.key > ? ORDER BY w.key LIMIT ?
                """,
            arguments: [cursor ?? .min, limit]
        )
        var page = CopiedPage(wallets: [], damaged: [], next: nil)
        for row in rows {
            let wallet: WalletID = try row.identifier(9)
            do {
                page.wallets.append(try self.copiedWallet(wallet, in: row))
            } catch StoreError.corrupt {
                page.damaged.append(wallet)
            }
        }
        if rows.count == limit { page.next = try rows.last?.number(0) }
        return page
    }

    private func copiedWallet(_ wallet: WalletID, in row: Row) throws -> CopiedWallet {
        func time(_ column: Int) -> Timestamp? {
            Int64.fromDatabaseValue(row[column]).map { Timestamp(milliseconds: $0) }
        }
        let state = try row.walletState(1)
        let stored = try row.bytesIfAny(10)
        guard let attempts = CopiedWallet.attempts(stored, of: wallet, in: state, by: self.key),
            let attested = String.fromDatabaseValue(row[15]),
            try row.bytes(7).count == WalletRow.recoveryMACByteCount
        else { throw StoreError.corrupt }
        _ = try self.charges(after: state)
        return CopiedWallet(
            id: wallet,
            attempts: attempts,
            row: WalletRow(
                key: WalletKey(number: try row.number(0)),
                state: state,
                pinKeyID: try row.identifier(2),
                unlockShare: try row.bytes(3),
                identity: try row.bytes(4),
                presenceShare: try row.bytes(5),
                deletionCode: try row.bytes(6),
                recoveryMAC: try row.bytes(7),
                hardwareKey: try row.identifier(8)
            ),
            next: NextShares(unlock: try row.bytesIfAny(11), presence: try row.bytesIfAny(12)),
            deletionDigest: try row.bytesIfAny(13),
            registeredAt: Timestamp(milliseconds: try row.number(14)),
            attested: attested,
            unopenedSince: time(16),
            endedAt: time(17),
            lastSession: time(18),
            isBlockRecorded: try row.number(19) != 0
        )
    }

    /// Returns the copy that the store was moved to, or nil if it was not moved.
    func movedTo() throws -> String? {
        let id = try Int64.fetchOne(self.db, sql: "PRAGMA application_id")
        guard id == Schema.movedID else { return nil }
        guard let copy = try self.operatorValues().values[Self.movedTo]?.text else { throw StoreError.corrupt }
        return copy
    }

    func noteMoved(to copy: String) throws {
        try self.db.execute(
            sql: "INSERT OR REPLACE INTO operator_values (name, value, set_at) VALUES (?, ?, 0)",
            arguments: [Self.movedTo, copy]
        )
        try self.db.execute(sql: "PRAGMA application_id = \(Schema.movedID)")
    }
}

extension SQLiteWalletStore: CopiedStore {
    package func copiedFacts() async throws(StoreError) -> CopiedFacts {
        try await self.queue.perform { try $0.copiedFacts() }
    }

    package func copiedEntries(
        of list: CopiedList,
        after: [UInt8]?,
        limit: Int
    ) async throws(StoreError) -> [CopiedEntry] {
        try await self.queue.perform { try $0.copiedEntries(of: list, after: after, limit: limit) }
    }

    package func copiedWallets(after: Int64?, limit: Int) async throws(StoreError) -> CopiedPage {
        try await self.queue.perform { try $0.copiedWallets(after: after, limit: limit) }
    }

    /// Returns the copy that the store was moved to, or nil if it was not moved.
    package func movedTo() async throws(StoreError) -> String? {
        try await self.queue.perform { try $0.movedTo() }
    }

    /// Marks the store as moved to this copy.
    ///
    /// From then on, no server opens it.
    package func noteMoved(to copy: String) async throws(StoreError) {
        try await self.queue.perform { try $0.noteMoved(to: copy) }
    }
}
