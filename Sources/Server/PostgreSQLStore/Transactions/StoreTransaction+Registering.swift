internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

extension StoreTransaction {
    /// Registers a wallet with its attempt record, which exists from this point on.
    func register(_ registration: NewRegistration) throws -> RegisterOutcome {
        if self.facts.isSolutionRevoked { return .solutionRevoked }
        let barred = try self.run(
            "select 1 from barred_hardware_keys where digest = $1",
            [.bytes(registration.hardwareKeyDigest.bytes)]
        )
        if barred.count > 0 { return .hardwareKeyBarred }
        if let found = try self.lock(registration.walletID) {
            if let rejection = found.row.rejection(of: registration) { return rejection }
            try self.remove([registration.walletID])
        }
        try self.insert(registration)
        return .registered(receiptVersion: self.facts.receiptVersion)
    }

    private func insert(_ registration: NewRegistration) throws {
        let values = StoredValues(registering: registration, epoch: UInt32(self.facts.epoch))
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

    /// Removes some registrations made before `time` without a session, and the marks of those that had one.
    ///
    /// Returns the number of removed wallets, and whether more may follow.
    func sweep(unopenedSince time: Timestamp, limit: Int) throws -> (removed: Int, hasMore: Bool) {
        let due = try self.run(
            "select place, id from unopened where registered_at < $1 order by place limit $2",
            [.number(time.milliseconds), .number(Int64(limit))]
        )
        var removed: [WalletID] = []
        for place in 0..<due.count {
            guard let number = due.number(place, 0) else { throw StoreError.corrupt }
            // A damaged row stays, so that the damage is reported when its wallet is accessed.
            if let wallet = due.bytes(place, 1).flatMap({ WalletID($0) }), let found = try self.lockIntact(wallet),
                !found.row.state.sessionOpened, found.row.state.revocation == nil, found.row.key.number == number
            {
                removed.append(wallet)
            } else {
                try self.run("delete from unopened where place = $1", [.number(number)])
            }
        }
        try self.remove(removed)
        return (removed.count, due.count == limit)
    }
}
