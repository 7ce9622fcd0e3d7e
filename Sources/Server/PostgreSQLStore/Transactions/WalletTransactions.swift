internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

// MARK: Wallets

extension StoreTransaction {
    private static let noteUnopened = SideStatement.insert(into: .unopened)

    /// Inserts a wallet with its attempt record, which exists from this point on.
    func insert(_ registration: NewRegistration) throws {
        let values = StoredValues(registering: registration, epoch: self.facts.epoch, as: self.key.form)
        try self.run(.wallet(.addRecord(registration.walletID, values.narrow(by: self.key))))
        let inserted = try self.run(.wallet(.addValues(wide: values.wide, registration)))
        guard let number = inserted.number(0, 0) else { throw StoreError.corrupt }
        try self.query(
            Self.noteUnopened,
            [.number(number), .bytes(registration.walletID.bytes), .number(registration.now.milliseconds)]
        )
    }

    func keepLastSessions(_ sessions: [(wallet: WalletID, at: Timestamp)]) throws {
        for (wallet, at) in sessions { try self.run(.wallet(.keepLastSession(wallet, at: at))) }
    }

    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        self.isOnRecord = true
        try self.run(.wallet(.noteRecordedBlocks(wallets)))
    }

    func walletCount() throws -> Int {
        Int(try self.session.scan("select count(*) from wallets", []).number(0, 0) ?? 0)
    }

    func unconfirmedShares() throws -> Int {
        let rows = try self.session.scan(
            "select count(*) from wallet_values where next_unlock is not null or next_presence is not null",
            []
        )
        return Int(rows.number(0, 0) ?? 0)
    }

    // MARK: Ends and codes

    /// Numbers the ends of this transaction and notifies the servers; does nothing if there are none.
    ///
    /// Invariant (G7): a number is visible only together with all lower ones, since each waits for the commit of the
    /// number before. So a server that has settled the revocations up to a number has missed none of them.
    func announceEnds() throws {
        guard self.endsAll || !self.ended.isEmpty else { return }
        try self.run(.server(.announceEnds(self.endsAll ? nil : self.ended.flatMap(\.bytes))))
    }

    func setSolutionRevoked(_ isRevoked: Bool) throws {
        self.endsAll = isRevoked
        try self.run(.facts(.setSolutionRevoked(isRevoked)))
    }

    /// Records the reversal at the time of the database.
    func note(reversal name: String) throws { try self.run(.server(.noteReversal(name))) }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        try PostgreSQLRow.all(in: self.run(.find(.deletionCode(digest)))).first?.identifier(0)
    }

    func keepPurgedCode(of wallet: WalletID, endedAt time: Timestamp) throws {
        try self.run(
            """
            insert into purged_codes (digest, revoked_at)
            select deletion_digest, $2 from wallet_values where id = $1 and deletion_digest is not null
            on conflict do nothing
            """,
            [.bytes(wallet.bytes), .number(time.milliseconds)]
        )
    }

    /// Otherwise, a link and a denial could each read the state before the other (write skew), and the wallet would
    /// stay linked and in use.
    func lock(recoveryCode mac: [UInt8]) throws { try self.run(.wallet(.lockCode(mac))) }

    // MARK: Facts

    func recordKeyCheck() throws -> [UInt8]? { try self.run("select record_key_check from facts").bytes(0, 0) }

    func operatorRevision() throws -> Int64? { try self.run(.facts(.operatorRevision)).number(0, 0) }

    func raiseOperatorRevision() throws {
        try self.run("update facts set operator_revision = operator_revision + 1")
    }

    /// Replaces the policy shared by all servers with this server's.
    func setPolicy() throws {
        self.isOnRecord = true
        try self.run("update facts set policy = $1", [.text(self.policy.text)])
    }

    /// The charge of an epoch also covers the commits that the store lacks.
    func epochsWereOpened(_ count: Int) throws {
        if count > 0 { try self.account() }
        try self.run(.facts(.countEpochs))
    }

    /// Invariant: no version seals that a server of the store lacks.
    ///
    /// A server takes its lease, which names its keys, before it compares them with the records of versions, and waits
    /// for this step's lock. So either this step finds the server's lease, or the server finds the new record.
    func requireKeyAtServers(_ version: UInt32, check: [UInt8]) throws {
        // rule: lease-keys-lock-missing
        try self.run(.session(.lock(LeaseStatement.keysLock)))
        let key = "\(version):\(check.hex)"
        let lacking = try self.run(.server(.countLacking(vaultKey: key, besides: self.server)))
        guard lacking.number(0, 0) == 0 else { throw StoreError.unavailable }
    }

    /// Each transaction reads the facts anew.
    func vaultVersionsHaveChanged() {}

    /// Each server has a separate log, so each has a separate mark.
    func auditMark() throws -> StoredAuditMark? {
        let rows = try self.run(.server(.auditMark(of: self.server)))
        guard rows.count == 1 else { return nil }
        guard let number = rows.number(0, 0), let mac = rows.text(0, 1) else { throw StoreError.corrupt }
        return StoredAuditMark(number: UInt64(bitPattern: number), mac: mac)
    }

    func keep(_ mark: StoredAuditMark, of server: String? = nil) throws {
        try self.run(.server(.keepAuditMark(of: server ?? self.server, mark)))
    }
}
