internal import GRDB
import PINPolicy
import Vocabulary

/// Reads and changes made by operators.
///
/// They are rare, so their statements are compiled on each use and add no cost to PIN checks.
extension StoreConnection {
    func report(of wallet: WalletID) throws -> StoredWallet? {
        guard let row = try self.wallet(wallet) else { return nil }
        let facts = try Row.fetchOne(
            self.db,
            sql: """
                SELECT registered_at, attested, at, record FROM wallets
                JOIN attestations ON attestations.wallet = wallets.key
                LEFT JOIN attempts ON attempts.wallet = wallets.key
                LEFT JOIN last_sessions ON last_sessions.wallet = wallets.key WHERE wallets.key = ?
                """,
            arguments: [row.key.number]
        )
        guard let facts, let attested = String.fromDatabaseValue(facts[1]) else { throw StoreError.corrupt }
        return StoredWallet(
            identity: row.identity,
            registeredAt: Timestamp(milliseconds: try facts.number(0)),
            sessionOpened: row.state.sessionOpened,
            lastSession: Int64.fromDatabaseValue(facts[2]).map { Timestamp(milliseconds: $0) },
            revocation: row.state.revocation,
            revokedAt: row.state.revokedAt,
            isSolutionRevoked: self.isSolutionRevoked,
            isLinkedToRecoveryCode: row.state.isLinked,
            hasDeletionCode: !row.deletionCode.isEmpty,
            assertionCounter: row.state.assertionCounter,
            attempts: try self.attempts(in: facts, at: 3, of: wallet)?.record,
            epochCharges: try self.charges(after: row.state),
            attested: attested
        )
    }

    /// Sets whether the solution is revoked.
    ///
    /// Returns whether this changed anything.
    func changeSolution(isRevoked: Bool) throws -> Bool {
        guard self.isSolutionRevoked != isRevoked else { return false }
        try self.setSolutionRevoked(isRevoked)
        return true
    }

    func denied(after: RecoveryCodeMAC?, limit: Int) throws -> (entries: [StoredDenial], hasMore: Bool) {
        // Read one more than requested to see whether there are more. Every MAC is greater than an empty value.
        let rows = try Row.fetchAll(
            self.db,
            sql: "SELECT mac, denied_at FROM denied_recovery_codes WHERE mac > ? ORDER BY mac LIMIT ?",
            arguments: [(after?.bytes ?? []).blob, limit + 1]
        )
        let entries = try rows.prefix(limit).map { row in
            StoredDenial(mac: try row.identifier(0), deniedAt: Timestamp(milliseconds: try row.number(1)))
        }
        return (entries, rows.count > limit)
    }

    func denied(_ mac: RecoveryCodeMAC) throws -> Timestamp? {
        try self.db.makeStatement(sql: "SELECT denied_at FROM denied_recovery_codes WHERE mac = ?")
            .first([mac.blob]) { Timestamp(milliseconds: try $0.number(0)) }
    }

    func removeDenied(_ mac: RecoveryCodeMAC) throws -> Timestamp? {
        guard let deniedAt = try self.denied(mac) else { return nil }
        try self.db.makeStatement(sql: "DELETE FROM denied_recovery_codes WHERE mac = ?").run([mac.blob])
        try self.keepAuditMark()
        return deniedAt
    }

    func operatorValues() throws -> OperatorValues {
        let revision = try self.db.makeStatement(sql: "SELECT revision FROM operator_revision")
            .first([]) { try $0.number(0) }
        guard let revision else { throw StoreError.corrupt }
        var values: [String: OperatorValues.Value] = [:]
        for row in try Row.fetchAll(self.db, sql: "SELECT name, value, set_at FROM operator_values") {
            guard let name = String.fromDatabaseValue(row[0]), let text = String.fromDatabaseValue(row[1]) else {
                throw StoreError.corrupt
            }
            values[name] = OperatorValues.Value(text, setAt: Timestamp(milliseconds: try row.number(2)))
        }
        return OperatorValues(revision: revision, values: values)
    }

    func setOperatorValues(_ values: [String: String?], at now: Timestamp) throws -> OperatorValues {
        for (name, text) in values {
            if let text {
                try self.db.execute(
                    sql: """
                        INSERT INTO operator_values (name, value, set_at) VALUES (?, ?, ?)
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value, set_at = excluded.set_at
                        """,
                    arguments: [name, text, now.milliseconds]
                )
            } else {
                try self.db.execute(sql: "DELETE FROM operator_values WHERE name = ?", arguments: [name])
            }
        }
        try self.db.execute(sql: "UPDATE operator_revision SET revision = revision + 1")
        return try self.operatorValues()
    }

    /// Returns the row numbers of the given wallets, skipping unknown ones.
    func keys(of wallets: [WalletID]) throws -> [(wallet: WalletID, key: WalletKey)] {
        let statement = try self.db.makeStatement(sql: "SELECT key FROM wallets WHERE id = ?")
        return try wallets.compactMap { wallet in
            try statement.first([wallet.blob]) { (wallet, WalletKey(number: try $0.number(0))) }
        }
    }

    /// Stores the time of each wallet's last session.
    ///
    /// Looks wallets up by id, because a row number may have been reused since.
    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        let statement = try self.db.makeStatement(
            sql: """
                INSERT INTO last_sessions (wallet, at) SELECT key, ? FROM wallets WHERE id = ?
                ON CONFLICT (wallet) DO UPDATE SET at = max(at, excluded.at)
                """
        )
        for (wallet, at) in sessions { try statement.run([at.milliseconds, wallet.blob]) }
    }
}
