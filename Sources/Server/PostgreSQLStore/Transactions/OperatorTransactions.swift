internal import PostgreSQLClient
package import Vocabulary
package import WalletStore

/// Steps that read and change data for operators.
extension StoreTransaction {
    func report(of wallet: WalletID) throws -> WalletReport? {
        let rows = try self.run(
            """
            select \(StoredValues.columns), v.registered_at, v.attested, s.at
            from \(StoredValues.tables) left join last_sessions s on s.id = w.id where w.id = $1
            """,
            [.bytes(wallet.bytes)]
        )
        guard rows.count == 1 else { return nil }
        let values = try StoredValues(rows, at: 0, of: wallet, by: self.key)
        guard let attested = rows.text(0, 14) else { throw StoreError.corrupt }
        return WalletReport(
            identity: values.wallet.row.identity,
            registeredAt: try rows.time(0, 13),
            sessionOpened: values.wallet.row.state.sessionOpened,
            lastSession: rows.number(0, 15).map { Timestamp(milliseconds: $0) },
            revocation: values.wallet.row.state.revocation,
            revokedAt: values.wallet.row.state.revokedAt,
            isSolutionRevoked: self.facts.isSolutionRevoked,
            isLinkedToRecoveryCode: values.wallet.row.state.isLinked,
            hasDeletionCode: !values.wallet.row.deletionCode.isEmpty,
            assertionCounter: values.wallet.row.state.assertionCounter,
            attempts: values.wallet.attempts?.record,
            epochCharges: try values.wallet.row.state.missing(of: self.facts.charges),
            attested: attested
        )
    }

    func listing(after cursor: UInt64?, limit: Int) throws -> [StoredListing] {
        let rows = try self.run(
            """
            select \(StoredValues.columns), v.registered_at, s.at, v.attested::json ->> 'platform', v.id
            from (\(Self.nextWallets)) v left join wallets w on w.id = v.id
            left join last_sessions s on s.id = v.id order by v.place
            """,
            [.after(cursor), .number(Int64(limit))]
        )
        return try (0..<rows.count).map { at in
            let wallet: WalletID = try rows.identifier(at, 16)
            guard let cursor = rows.number(at, 2) else { throw StoreError.corrupt }
            // Rows that do not decode are listed as a damaged wallet's, so that they hide no other wallet.
            let values = try? StoredValues(rows, at: at, of: wallet, by: self.key)
            let charges = values.flatMap { try? $0.wallet.row.state.missing(of: self.facts.charges) }
            return StoredListing(
                cursor: UInt64(bitPattern: cursor),
                walletID: wallet,
                platform: rows.text(at, 15).flatMap { Platform(rawValue: $0) },
                registeredAt: try rows.time(at, 13),
                sessionOpened: values?.wallet.row.state.sessionOpened ?? false,
                lastSession: rows.number(at, 14).map { Timestamp(milliseconds: $0) },
                revocation: values?.wallet.row.state.revocation,
                attempts: charges == nil ? nil : values?.wallet.attempts?.record,
                epochCharges: charges ?? []
            )
        }
    }

    func setSolutionRevoked(_ isRevoked: Bool) throws -> Bool {
        guard self.facts.isSolutionRevoked != isRevoked else { return false }
        self.isOnRecord = true
        self.endsAll = isRevoked
        try self.run("update facts set solution_revoked = $1", [.flag(isRevoked)])
        if !isRevoked { try self.note(reversal: OperatorValues.solutionReversal) }
        return true
    }

    /// Records the reversal of a change that any server's log may have, at the time of the database.
    private func note(reversal name: String) throws {
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

    func denied(after mac: RecoveryCodeMAC?, limit: Int) throws -> (entries: [StoredDenial], hasMore: Bool) {
        // Reading one more row than requested shows whether others follow.
        let rows = try self.run(
            "select mac, denied_at from denied_recovery_codes where mac > $1 order by mac limit $2",
            [.bytes(mac?.bytes ?? []), .number(Int64(limit) + 1)]
        )
        let entries = try (0..<min(rows.count, limit)).map {
            StoredDenial(mac: try rows.identifier($0, 0), deniedAt: try rows.time($0, 1))
        }
        return (entries, rows.count > limit)
    }

    func removeDenied(_ mac: RecoveryCodeMAC) throws -> Timestamp? {
        try self.lock(recoveryCode: mac.bytes)
        let rows = try self.run(
            "delete from denied_recovery_codes where mac = $1 returning denied_at",
            [.bytes(mac.bytes)]
        )
        guard rows.count > 0 else { return nil }
        self.isOnRecord = true
        try self.note(reversal: OperatorValues.reversal(of: mac))
        return try rows.time(0, 0)
    }

    func operatorValues() throws -> OperatorValues {
        guard let revision = try self.run("select operator_revision from facts").number(0, 0) else {
            throw StoreError.corrupt
        }
        let rows = try self.run("select name, value, set_at from operator_values")
        var values: [String: OperatorValues.Value] = [:]
        for place in 0..<rows.count {
            guard let name = rows.text(place, 0), let text = rows.text(place, 1) else { throw StoreError.corrupt }
            values[name] = OperatorValues.Value(text, setAt: try rows.time(place, 2))
        }
        return OperatorValues(revision: revision, values: values)
    }

    func setOperatorValues(_ values: [String: String?], at now: Timestamp) throws -> OperatorValues {
        for (name, text) in values {
            if let text {
                try self.run(
                    """
                    insert into operator_values (name, value, set_at) values ($1, $2, $3)
                    on conflict (name) do update set value = excluded.value, set_at = excluded.set_at
                    """,
                    [.text(name), .text(text), .number(now.milliseconds)]
                )
            } else {
                try self.run("delete from operator_values where name = $1", [.text(name)])
            }
        }
        try self.run("update facts set operator_revision = operator_revision + 1")
        return try self.operatorValues()
    }

    func purged(deletionCode digest: SHA256Digest) throws -> Timestamp? {
        let rows = try self.run("select revoked_at from purged_codes where digest = $1", [.bytes(digest.bytes)])
        return rows.count == 0 ? nil : try rows.time(0, 0)
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
