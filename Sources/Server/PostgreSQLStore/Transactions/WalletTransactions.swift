internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

extension StoreTransaction {
    /// Inserts a wallet with its attempt record, which exists from this point on.
    func insert(_ registration: NewRegistration) throws {
        let values = StoredValues(registering: registration, epoch: self.facts.epoch)
        let id = PostgreSQLValue.bytes(registration.walletID.bytes)
        try self.run(
            "insert into wallets (id, record) values ($1, $2)",
            [id, .bytes(values.narrow(by: self.key))]
        )
        let inserted = try self.run(
            """
            insert into wallet_values (id, version, pin_key_id, identity, unlock_share, presence_share, deletion_code,
                recovery_mac, hardware_key, next_unlock, next_presence, deletion_digest, registered_at, attested)
            values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning place
            """,
            [id] + values.wide + [
                registration.deletionCode.map { .bytes($0.digest.bytes) } ?? .null,
                .number(registration.now.milliseconds), .text(registration.attested),
            ]
        )
        guard let number = inserted.number(0, 0) else { throw StoreError.corrupt }
        try self.run(
            "insert into unopened (place, id, registered_at) values ($1, $2, $3)",
            [.number(number), id, .number(registration.now.milliseconds)]
        )
    }
}

/// The order of links and denials.
extension StoreTransaction {
    /// The class of the advisory locks of recovery codes.
    private static let codeLocks: Int64 = 0x7250_494E

    /// Orders a link to a recovery code and the code's denial, so that the later one sees the earlier one's commit.
    ///
    /// Otherwise, each could read the state before the other (write skew), and the wallet would stay linked and in use.
    func lock(recoveryCode mac: [UInt8]) throws {
        try self.run(
            "select pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), $2))",
            [.bytes(mac), .number(Self.codeLocks)]
        )
    }
}

/// The ends of wallets.
extension StoreTransaction {
    /// Numbers the ends of this transaction and notifies the servers; does nothing if there are none.
    ///
    /// Invariant (G7): a number is visible only together with all lower ones, since each waits for the commit of the
    /// number before. So a server that has settled the revocations up to a number has missed none of them.
    func announceEnds() throws {
        guard self.endsAll || !self.ended.isEmpty else { return }
        let wallets = self.endsAll ? PostgreSQLValue.null : .bytes(self.ended.flatMap(\.bytes))
        try self.run(
            """
            with counted as (
                insert into revocation_count (number) values (1)
                on conflict (id) do update set number = revocation_count.number + 1 returning number
            ), pruned as (
                delete from revocations where number <= (select number from revocation_count) - \(Self.keptRevocations)
            ), added as (
                insert into revocations (number, wallets) select number, $1::bytea from counted
            )
            select pg_notify('\(LeaseChannel.revoked.rawValue)', '')
            """,
            [wallets]
        )
    }

    /// The number of revocations that are kept for servers which have not read them yet.
    ///
    /// A server that finds that it has missed one settles all of its connections.
    private static let keptRevocations = 1000

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        let rows = try self.run("select id from wallet_values where deletion_digest = $1", [.bytes(digest.bytes)])
        return try PostgreSQLRow.all(in: rows).first?.identifier(0)
    }
}

/// Permanent blocks and their entries in the audit log, and the charges of restores.
extension StoreTransaction {
    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        self.isOnRecord = true
        try self.run(
            "insert into recorded_blocks (id) select id from wallets where id = any($1) on conflict do nothing",
            [.byteArrays(wallets.map(\.bytes))]
        )
    }

    /// The charge of an epoch also covers the commits that the store lacks.
    func epochsWereOpened(_ count: Int) throws {
        if count > 0 { try self.account() }
        try self.run("update facts set epoch = (select count(*) + 1 from epochs), lost_commits = false")
    }
}
