internal import GRDB
import Vocabulary

/// Registration and removal of wallets.
extension StoreConnection {
    /// The maximum sizes of the sealed values.
    ///
    /// Together, they ensure that a row fits into one page of 4096 bytes.
    private static let largestIdentity = 2048
    private static let largestShare = 512

    func register(_ registration: NewRegistration) throws -> RegisterOutcome {
        if self.isSolutionRevoked { return .solutionRevoked }
        if try self.isBarred(registration.hardwareKeyDigest) { return .hardwareKeyBarred }
        if let row = try self.wallet(registration.walletID) {
            if let rejection = row.rejection(of: registration) { return rejection }
            // Insert the row at the end instead of rewriting it in place, because its values may differ in length.
            try self.remove([row.key])
        }
        try self.insert(registration)
        return .registered(receiptVersion: self.receiptVersion)
    }

    /// Bars the hardware key of a wallet whose device is not allowed to register again.
    ///
    /// The key stays barred after the wallet is purged. If the device registers with a new hardware key, the deny list
    /// rejects its next link to the recovery code.
    func bar(_ hardwareKey: SHA256Digest) throws {
        try self.db.makeStatement(sql: "INSERT OR IGNORE INTO barred_hardware_keys (digest) VALUES (?)")
            .run([hardwareKey.blob])
    }

    private func isBarred(_ hardwareKey: SHA256Digest) throws -> Bool {
        try self.db.makeStatement(sql: "SELECT 1 FROM barred_hardware_keys WHERE digest = ?")
            .first([hardwareKey.blob]) { _ in true } ?? false
    }

    private func insert(_ registration: NewRegistration) throws {
        precondition(registration.identity.count <= Self.largestIdentity, "a sealed identity must fit into a row")
        precondition(
            max(registration.unlockShare.count, registration.presenceShare.count) <= Self.largestShare
                && registration.deletionCode?.sealed.count ?? 0 <= Self.largestShare,
            "sealed shares and codes must fit into a row"
        )
        var state = WalletState()
        state.epoch = self.epoch
        state.assertionCounter = registration.assertionCounter
        try self.db.makeStatement(
            sql: """
                INSERT INTO wallets (\(WalletRow.columns), id, deletion_digest, registered_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).run([
            nil, state.encoded().blob, registration.pinKeyID.blob, registration.unlockShare.blob,
            registration.identity.blob, registration.presenceShare.blob,
            (registration.deletionCode?.sealed ?? []).blob,
            [UInt8](repeating: 0, count: WalletRow.recoveryMACByteCount).blob, registration.hardwareKeyDigest.blob,
            registration.walletID.blob, registration.deletionCode?.digest.blob, registration.now.milliseconds,
        ])
        let key = self.db.lastInsertedRowID
        // Added at registration, so that a missing row means damage and not an empty record.
        try self.addAttempts(KeptAttempts(), of: registration.walletID, at: WalletKey(number: key))
        try self.db.makeStatement(sql: "INSERT INTO attestations (wallet, attested) VALUES (?, ?)")
            .run([key, registration.attested])
        try self.db.makeStatement(sql: "INSERT INTO unopened (wallet, registered_at) VALUES (?, ?)")
            .run([key, registration.now.milliseconds])
    }

    /// The maximum number of wallets removed by one step, so that PIN checks do not wait long.
    ///
    /// Removing one wallet changes rows in eight tables and their indexes.
    static let removedAtOnce = 8

    func remove(_ keys: [WalletKey]) throws {
        for (table, column) in [
            ("wallets", "key"), ("attestations", "wallet"), ("unopened", "wallet"), ("attempts", "wallet"),
            ("last_sessions", "wallet"), ("ended", "wallet"), ("next_shares", "wallet"), ("recorded_blocks", "wallet"),
        ] {
            let statement = try self.db.makeStatement(sql: "DELETE FROM \(table) WHERE \(column) = ?")
            for key in keys { try statement.run([key.number]) }
        }
        if self.hasNextShares { try self.findNextShares() }
    }
}
