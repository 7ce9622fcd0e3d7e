internal import PostgreSQLClient
internal import Vocabulary
package import WalletStore

/// Steps of maintenance over many wallets, in the order of registration.
extension StoreTransaction {
    func walletCount() throws -> Int {
        let rows = try self.session.scan("select count(*) from wallets", [])
        return Int(rows.number(0, 0) ?? 0)
    }

    func sealedValues(after cursor: UInt64?, limit: Int) throws -> [SealedWallet] {
        let rows = try self.run(
            """
            select \(StoredValues.columns) from (\(Self.nextWallets)) v left join wallets w on w.id = v.id
            order by v.place
            """,
            [.after(cursor), .number(Int64(limit))]
        )
        return try (0..<rows.count).map { at in
            let wallet: WalletID = try rows.identifier(at, 0)
            let values = try StoredValues(rows, at: at, of: wallet, by: self.key)
            return SealedWallet(
                cursor: UInt64(bitPattern: values.wallet.row.key.number),
                walletID: wallet,
                values: values.wallet.row.sealedValues(with: values.wallet.next)
            )
        }
    }

    /// Checks the attempts of the next `limit` wallets after `cursor`.
    func checkRecords(after cursor: UInt64?, limit: Int) throws -> RecordCheck {
        let rows = try self.run(
            """
            select v.id, w.record, v.place, v.version from (\(Self.nextWallets)) v
            left join wallets w on w.id = v.id order by v.place
            """,
            [.after(cursor), .number(Int64(limit))]
        )
        let damaged = try (0..<rows.count).compactMap { at -> WalletID? in
            let wallet: WalletID = try rows.identifier(at, 0)
            guard let narrow = rows.bytes(at, 1).flatMap({ NarrowRow(decoding: $0) }),
                rows.number(at, 3) == narrow.version
            else { return wallet }
            guard narrow.state.revocation == nil else { return nil }
            return narrow.attempts(of: wallet, by: self.key) == nil ? wallet : nil
        }
        return RecordCheck(damaged: damaged, next: rows.nextPage(after: 2, limit))
    }

    func recordKeyFits() throws -> Bool {
        try self.run("select record_key_check from facts").bytes(0, 0) == self.key.check
    }
}

/// Steps that remove wallets that ended long ago.
extension StoreTransaction {
    func purgeable(after cursor: UInt64?, lookingAt limit: Int, endedBefore time: Timestamp) throws -> Purgeable {
        let ended = try self.run(
            """
            select e.id, w.record, e.place
            from (select * from ended where place > $1 order by place limit $2) e left join wallets w on w.id = e.id
            order by e.place
            """,
            [.after(cursor), .number(Int64(limit))]
        )
        let wallets = try (0..<ended.count).compactMap { at -> WalletID? in
            // A damaged row is not purged; the damage is reported when its wallet is accessed.
            guard let state = ended.bytes(at, 1).flatMap({ NarrowRow(decoding: $0) })?.state,
                state.revocation != nil, state.revokedAt < time
            else { return nil }
            return try ended.identifier(at, 0)
        }
        return Purgeable(wallets: wallets, next: ended.nextPage(after: 2, limit))
    }

    func keepPurgedCode(of held: StoredValues) throws {
        try self.run(
            """
            insert into purged_codes (digest, revoked_at)
            select deletion_digest, $2 from wallet_values where id = $1 and deletion_digest is not null
            on conflict do nothing
            """,
            [.bytes(held.id.bytes), .number(held.wallet.row.state.revokedAt.milliseconds)]
        )
    }
}

/// The refresh of shares.
extension StoreTransaction {
    func beginShareRefresh(at now: Timestamp) throws {
        try self.run(
            """
            insert into share_refresh (begun_at, place, last)
            select $1, min(place) - 1, max(place) from wallet_values having count(*) > 0
            on conflict (id) do update
                set begun_at = excluded.begun_at, place = excluded.place, last = excluded.last
            """,
            [.number(now.milliseconds)]
        )
    }

    /// A wallet with damaged rows counts as ended, so that the others do not wait for it.
    func walletsToRefresh(limit: Int) throws -> [RefreshableWallet]? {
        let refresh = try self.run("select place, last from share_refresh")
        guard refresh.count == 1, let cursor = refresh.number(0, 0), let last = refresh.number(0, 1) else { return nil }
        let rows = try self.run(
            """
            select v.place, v.id, w.record
            from (select * from wallet_values where place > $1 and place <= $2 order by place limit $3) v
            left join wallets w on w.id = v.id order by v.place
            """,
            [.number(cursor), .number(last), .number(Int64(limit))]
        )
        return try (0..<rows.count).map { at in
            guard let cursor = rows.number(at, 0) else { throw StoreError.corrupt }
            let narrow = rows.bytes(at, 2).flatMap { NarrowRow(decoding: $0) }
            return RefreshableWallet(
                cursor: UInt64(bitPattern: cursor),
                walletID: try rows.identifier(at, 1),
                hasEnded: narrow.map { $0.state.revocation != nil } ?? true
            )
        }
    }

    /// Checks each wallet again, because it may have ended, or another wallet may have taken its id, since it was read.
    ///
    /// The progress skips no wallet that is not among these, because another server may have begun a refresh in the
    /// meantime, and a registration may have been committed after others with higher row numbers.
    func offer(_ shares: [OfferedShares]) throws {
        guard let last = shares.last else {
            try self.run(
                """
                delete from share_refresh where not exists (
                    select from wallet_values v where v.place > share_refresh.place and v.place <= share_refresh.last
                )
                """
            )
            return
        }
        for offered in shares.inLockOrder(\.walletID) {
            guard let next = offered.next, var values = try self.holdIntact(offered.walletID),
                values.wallet.row.key.number == Int64(bitPattern: offered.cursor),
                values.wallet.row.state.revocation == nil
            else { continue }
            values.wallet.next = next
            try self.keepAll(values)
        }
        let cursors = shares.map { "\(Int64(bitPattern: $0.cursor))" }.joined(separator: ",")
        try self.run(
            """
            update share_refresh set place = $2 where not exists (
                select from wallet_values v where v.place > share_refresh.place and v.place <= $2
                    and v.place <> all(string_to_array($1, ',')::bigint[])
            ) and place < $2
            """,
            [.text(cursors), .number(Int64(bitPattern: last.cursor))]
        )
    }

    func unconfirmedShares() throws -> Int {
        let rows = try self.session.scan(
            "select count(*) from wallet_values where next_unlock is not null or next_presence is not null",
            []
        )
        return Int(rows.number(0, 0) ?? 0)
    }
}

/// The servers' keys of the vault, and this server's audit log.
extension StoreTransaction {
    /// Invariant: no version seals that a server of the store lacks.
    ///
    /// A server takes its lease, which names its keys, before it compares them with the records of versions, and waits
    /// for this step's lock. So either this step finds the server's lease, or the server finds the new record.
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) throws {
        // rule: lease-keys-lock-missing
        try self.run("select pg_advisory_xact_lock($1)", [.number(LeaseTable.keysLock)])
        let lacking = try self.run(
            "select count(*) from leases where server <> $2 and not $1 = any(string_to_array(vault_keys, ' '))",
            [.text("\(version):\(check.hex)"), .text(self.server)]
        )
        guard lacking.number(0, 0) == 0 else { throw StoreError.unavailable }
    }

    /// Each transaction reads the facts anew.
    func vaultVersionsHaveChanged() {}

    /// Each server has a separate log, so each has a separate mark.
    func auditMark() throws -> StoredAuditMark? {
        let rows = try self.run("select number, mac from audit_marks where server = $1", [.text(self.server)])
        guard rows.count == 1 else { return nil }
        guard let number = rows.number(0, 0), let mac = rows.text(0, 1) else { throw StoreError.corrupt }
        return StoredAuditMark(number: UInt64(bitPattern: number), mac: mac)
    }

    func keep(_ mark: StoredAuditMark, of server: String? = nil) throws {
        try self.run(
            """
            insert into audit_marks (server, number, mac) values ($1, $2, $3)
            on conflict (server) do update set number = excluded.number, mac = excluded.mac
            """,
            [.text(server ?? self.server), .number(Int64(bitPattern: mark.number)), .text(mark.mac)]
        )
    }
}

/// A server that the store knows, by its commits or by its audit log.
package struct KnownServer: Hashable, Sendable {
    package let name: String
    /// The newest entry in its audit log at its last recorded change, or nil before the first one.
    package let mark: StoredAuditMark?
    /// The numbers of its commits in the store.
    package let commits: CommitMark
}

/// The loss of commits, and the epoch that ends it.
extension StoreTransaction {
    /// Returns every server that the store knows, sorted by name.
    func servers() throws -> [KnownServer] {
        let rows = try self.run(
            """
            select s.server, m.number, m.mac, j.number, t.number
            from (select server from audit_marks union select server from commit_numbers) s
            left join audit_marks m on m.server = s.server
            left join commit_numbers j on j.server = s.server and j.lane = '\(CommitLane.judging.rawValue)'
            left join commit_numbers t on t.server = s.server and t.lane = '\(CommitLane.transactions.rawValue)'
            order by s.server
            """
        )
        return try (0..<rows.count).map { row in
            guard let name = rows.text(row, 0) else { throw StoreError.corrupt }
            var commits = CommitMark(server: name)
            commits.epoch = self.session.epoch
            commits.numbers = [.judging: rows.number(row, 3) ?? 0, .transactions: rows.number(row, 4) ?? 0]
            var mark: StoredAuditMark?
            if let number = rows.number(row, 1), let mac = rows.text(row, 2) {
                mark = StoredAuditMark(number: UInt64(bitPattern: number), mac: mac)
            }
            return KnownServer(name: name, mark: mark, commits: commits)
        }
    }

    /// Marks the store as one that lacks commits: from its commit on, no server judges anything.
    func noteLostCommits() throws {
        self.isUncounted = true
        try self.run("update facts set lost_commits = true")
    }

    /// Opens epochs, after which servers judge again, with the audit logs that were read for them.
    ///
    /// Invariant (G7): a server continues only the log whose entries were repeated, or one that continues it. An older
    /// copy of it would hide revocations from the next epoch.
    ///
    /// - Parameters:
    ///   - marks: The newest entry of each log, by the server's name.
    ///   - lost: The servers whose logs are lost; each of them begins a new log.
    ///   - accounted: The commits that the logs and the marks beside them show.
    ///   - vaultKey: The newest version of the vault's keys that a server has used, with its check value.
    func open(
        _ epochs: [StoredEpoch],
        with marks: [String: StoredAuditMark],
        without lost: [String],
        accountingFor accounted: [AccountedCommits],
        vaultKey: StoredVaultVersion? = nil
    ) throws {
        try self.open(epochs)
        try self.account(for: accounted)
        for (server, mark) in marks { try self.keep(mark, of: server) }  // rule: epoch-log-not-named
        for server in lost { try self.run("delete from audit_marks where server = $1", [.text(server)]) }
        try self.run("update facts set home = \(Schema.place)")
        // A restored database contains leases of the past. A server that still runs takes a new one, and settles all.
        try self.run("delete from leases")  // rule: epoch-leases-of-the-past
        if let vaultKey {
            let note = NoteVaultVersion(version: vaultKey.version, check: vaultKey.check, now: vaultKey.activeSince)
            _ = try note.run(in: self)
        }
    }

    /// Records that the next epoch takes the commits in the store into account.
    func account() throws {
        self.isUncounted = true
        try self.account(
            for: try self.servers().map {
                AccountedCommits(server: $0.name, epoch: self.session.epoch, numbers: $0.commits.numbers, total: 0)
            }
        )
    }

    /// Records commits that the next epoch takes into account, in addition to those recorded before.
    private func account(for accounted: [AccountedCommits]) throws {
        for commits in accounted {
            let numbers = CommitLane.allCases.map { PostgreSQLValue.number(commits.numbers[$0, default: 0]) }
            try self.run(
                """
                insert into accounted_commits as known (server, epoch, judging, transactions, total)
                values ($1, $2, $3, $4, $5) on conflict (server, epoch) do update set
                    judging = greatest(known.judging, excluded.judging),
                    transactions = greatest(known.transactions, excluded.transactions),
                    total = greatest(known.total, excluded.total)
                """,
                [.text(commits.server), .number(commits.epoch)] + numbers + [.number(Int64(clamping: commits.total))]
            )
        }
    }

    /// Returns the addresses of other sessions opened by servers, except those of roles that this role is not allowed
    /// to see.
    func sessions(named application: String) throws -> [String] {
        let rows = try self.run(
            """
            select coalesce(host(client_addr), 'this machine') from pg_stat_activity
            where datname = current_database() and application_name = $1 and pid <> pg_backend_pid()
            """,
            [.text(application)]
        )
        return (0..<rows.count).compactMap { rows.text($0, 0) }
    }
}

extension PostgreSQLWalletStore {
    package func servers() async throws(StoreError) -> [KnownServer] {
        try await self.perform(.reading) { try $0.servers() }
    }

    package func noteLostCommits() async throws(StoreError) {
        try await self.perform(.changingFacts) { try $0.noteLostCommits() }
    }

    package func open(
        _ epochs: [StoredEpoch],
        with marks: [String: StoredAuditMark],
        without lost: [String],
        accountingFor accounted: [AccountedCommits],
        vaultKey: StoredVaultVersion? = nil
    ) async throws(StoreError) {
        try await self.perform(.changingFacts) {
            try $0.open(epochs, with: marks, without: lost, accountingFor: accounted, vaultKey: vaultKey)
        }
    }

    /// Returns the commits that epochs took into account.
    package func accountedCommits() async throws(StoreError) -> [AccountedCommits] {
        try await self.perform(.reading) { try $0.session.accountedCommits() }
    }

    /// Returns the addresses of the sessions of running servers.
    package func sessions(named application: String) async throws(StoreError) -> [String] {
        try await self.perform(.reading) { try $0.sessions(named: application) }
    }
}
