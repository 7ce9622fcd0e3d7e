internal import PINPolicy
internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

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
}

/// The order of links and denials.
extension StoreTransaction {
    /// Orders a link to a recovery code and the code's denial, so that the later one sees the earlier one's commit.
    ///
    /// Otherwise, each could read the state before the other (write skew), and the wallet would stay linked and in use.
    func lock(recoveryCode mac: [UInt8]) throws {
        try self.run(.wallet(.lockCode(mac)))
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
        try self.run(.server(.announceEnds(self.endsAll ? nil : self.ended.flatMap(\.bytes))))
    }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        let rows = try self.run(.find(.deletionCode(digest)))
        return try PostgreSQLRow.all(in: rows).first?.identifier(0)
    }
}

/// Permanent blocks and their entries in the audit log, and the charges of restores.
extension StoreTransaction {
    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        self.isOnRecord = true
        try self.run(.wallet(.noteRecordedBlocks(wallets)))
    }

    /// The charge of an epoch also covers the commits that the store lacks.
    func epochsWereOpened(_ count: Int) throws {
        if count > 0 { try self.account() }
        try self.run(.facts(.countEpochs))
    }
}
