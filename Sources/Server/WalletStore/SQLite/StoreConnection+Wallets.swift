import PreparedSQL
import Vocabulary

extension StoreConnection {
    /// The data read for every judged attempt, in a single query.
    struct Attempted: Sendable {
        let row: JudgedRow
        var attempts: KeptAttempts
        /// The attempts as stored.
        var onFile: [UInt8]
    }

    /// The part of a wallet's row needed for judging.
    ///
    /// It is an immutable class because it is cached and shared.
    final class JudgedRow: Sendable {
        let key: WalletKey
        let state: WalletState
        let pinKeyID: PINKeyID
        let unlockShare: Sealed
        let identity: Sealed

        fileprivate init(_ row: borrowing PreparedRow) throws {
            (self.key, self.state) = try row.keyAndState()
            self.pinKeyID = try row.identifier(2)
            self.unlockShare = try row.kept(3)
            self.identity = try row.kept(5)
        }

        init(_ row: WalletRow) {
            (self.key, self.state, self.pinKeyID) = (row.key, row.state, row.pinKeyID)
            (self.unlockShare, self.identity) = (row.unlockShare, row.identity)
        }
    }

    /// Returns the data needed to judge a wallet's attempts, as of the current transaction.
    func attempted(_ wallet: WalletID) throws -> Attempted? {
        if let known = self.known[wallet] { return known }
        let statement = self.statements.attempted
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { row in try Attempted(row, of: wallet, by: self.key) }
    }

    func wallet(_ wallet: WalletID) throws -> WalletRow? {
        let statement = self.statements.wallet
        statement.bind(wallet.bytes, at: 1)
        return try statement.first { try WalletRow($0) }
    }

    /// Writes a wallet's row in place.
    ///
    /// The row always changes and keeps its width.
    func keep(_ row: WalletRow) throws {
        var state = row.state
        state.writes &+= 1
        let statement = self.statements.keepWallet
        let values = [
            state.encoded(), row.pinKeyID.bytes, row.unlockShare, row.identity, row.presenceShare, row.deletionCode,
            row.recoveryMAC,
        ]
        for (place, value) in values.enumerated() { statement.bind(value, at: Int32(place + 1)) }
        statement.bind(row.key.number, at: Int32(values.count + 1))
        try statement.run()
    }

    /// Writes an attempt record, which the caller has changed.
    ///
    /// Its width is fixed.
    ///
    /// Invariant (G4): an attempt is counted only on top of the record that it replaces. The statement compares the
    /// stored record with the one that the attempt was judged from. If they differ, the step fails and is repeated from
    /// the stored record (``BatchWriter``).
    func keep(_ found: Attempted, of wallet: WalletID) throws {
        var kept = found
        kept.onFile = kept.attempts.encoded(of: wallet, by: self.key)
        let statement = self.statements.changeAttempts
        statement.bind(found.row.key.number, at: 1)
        statement.bind(kept.onFile, at: 2)
        statement.bind(found.onFile, at: 3)
        guard try statement.change() == 1 else { throw StoreError.corrupt }
        self.known.remember(kept, of: wallet)
    }

    /// Permanently ends a wallet, unless it has already ended.
    func revoke(_ row: inout WalletRow, _ revocation: Revocation, at now: Timestamp) throws {
        guard row.state.revocation == nil else { return self.noteDestroyedBefore() }
        self.noteDestroyed()
        row.revoke(revocation, at: now)
        try self.keep(row)
        try self.removeNextShares(of: row.key)
        try self.noteEnd(of: row.key, at: now)
        if !revocation.mayRegisterAnew { try self.bar(row.hardwareKey) }
        try self.keepAuditMark()
    }

    /// Returns the revocation that prevents any release to a wallet: the wallet's own or, if there is none, the
    /// solution's.
    func revocation(of state: WalletState) -> Revocation? {
        state.revocation(isSolutionRevoked: self.isSolutionRevoked)
    }
}

extension StoreConnection.Attempted {
    /// Reads a row.
    ///
    /// A missing record means damage, because every wallet has attempts from registration on.
    fileprivate init(_ row: borrowing PreparedRow, of wallet: WalletID, by key: RecordKey) throws {
        let onFile = try row.kept(4)
        guard let attempts = KeptAttempts(decoding: onFile, of: wallet, by: key) else { throw StoreError.corrupt }
        self.init(row: try StoreConnection.JudgedRow(row), attempts: attempts, onFile: onFile)
    }
}
