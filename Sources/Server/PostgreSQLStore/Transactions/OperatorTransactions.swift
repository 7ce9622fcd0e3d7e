internal import PostgreSQLClient
package import Vocabulary
package import WalletStore

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

/// Denials of recovery codes, whose wallets cannot be found with an index.
extension PostgreSQLWalletStore {
    /// The number of wallets that one step of a search reads.
    static let searchedAtOnce = 10_000

    /// Denies the code first, and then searches for its wallets in pages, so that no lock is held for the whole search.
    ///
    /// If the process ends in between, the entry in the audit log is begun and its next start continues.
    ///
    /// Invariant (G7): from the commit of the denial on, no wallet is linked to the code: a link takes the same lock
    /// and ends its wallet. A search that begins after the commit therefore finds every linked wallet, and needs no
    /// lock while it reads.
    package func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        at now: Timestamp
    ) async throws(StoreError) -> RecoveryCodeRevocationOutcome {
        let before = try await self.perform(.writing) { try $0.deny(mac, at: now) }
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
