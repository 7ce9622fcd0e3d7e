internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Steps that read and change data for operators.
extension StoreTransaction {
    func setSolutionRevoked(_ isRevoked: Bool) throws {
        self.endsAll = isRevoked
        try self.run("update facts set solution_revoked = $1", [.flag(isRevoked)])
    }

    /// Records the reversal at the time of the database.
    func note(reversal name: String) throws {
        try self.run(
            """
            insert into operator_values (name, value, set_at)
            values ($1, '', floor(extract(epoch from clock_timestamp()) * 1000)::bigint)
            on conflict (name) do update set set_at = excluded.set_at
            """,
            [.text(name)]
        )
    }

    /// Replaces the policy shared by all servers with this server's.
    func setPolicy() throws {
        self.isOnRecord = true
        try self.run("update facts set policy = $1", [.text(self.policy.text)])
    }

    func operatorRevision() throws -> Int64? {
        try self.run("select operator_revision from facts").number(0, 0)
    }

    func raiseOperatorRevision() throws {
        try self.run("update facts set operator_revision = operator_revision + 1")
    }

    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        for (wallet, at) in sessions {
            try self.run(
                """
                insert into last_sessions (id, at) select id, $2 from wallets where id = $1
                on conflict (id) do update set at = greatest(last_sessions.at, excluded.at)
                """,
                [.bytes(wallet.bytes), .number(at.milliseconds)]
            )
        }
    }
}
