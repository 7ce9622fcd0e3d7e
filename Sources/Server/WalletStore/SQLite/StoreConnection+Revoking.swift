internal import GRDB
import Vocabulary

/// Ends of wallets. Each destroys both shares in its own commit; a wallet that has ended stays as it is.
extension StoreConnection {
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) throws -> CodeRevocationOutcome {
        let statement = try self.db.makeStatement(sql: "SELECT id FROM wallets WHERE deletion_digest = ?")
        guard let id: WalletID = try statement.first([digest.blob], { try $0.identifier(0) }) else {
            return .notRecognised
        }
        guard var row = try self.wallet(id) else { throw StoreError.corrupt }
        try self.revoke(&row, Revocation(reason: .user, mayRegisterAnew: true), at: now)
        return .revoked(id, at: row.state.revokedAt)
    }

    func recordWipe(of wallet: WalletID, at now: Timestamp) throws {
        guard var row = try self.wallet(wallet) else { return }
        try self.revoke(&row, Revocation(reason: .user, mayRegisterAnew: true), at: now)
    }

    /// Puts a recovery code on the deny list and ends the wallets that are linked to it; returns how many it ended.
    ///
    /// Both are one step, with which every link is ordered. The column has no index: one would be written by a right PIN only. This looks at every wallet instead.
    func deny(recoveryCode mac: [UInt8], at now: Timestamp) throws -> Int {
        precondition(mac.count == WalletRow.recoveryMACByteCount, "a recovery code's MAC has 32 bytes")
        try self.db.execute(
            sql: "INSERT INTO denied_recovery_codes (mac, denied_at) VALUES (?, ?) ON CONFLICT (mac) DO NOTHING",
            arguments: [mac.blob, now.milliseconds]
        )
        let linked = try Row.fetchAll(
            self.db,
            sql: "SELECT id FROM wallets WHERE recovery_mac = ?",
            arguments: [mac.blob]
        ).map { row -> WalletID in try row.identifier(0) }
        self.mustTruncateLog = true
        var ended = 0
        for id in linked {
            guard var row = try self.wallet(id) else { throw StoreError.corrupt }
            guard row.state.isLinked, row.state.revocation == nil else { continue }
            try self.revoke(&row, Revocation(reason: .recoveryCode, mayRegisterAnew: false), at: now)
            ended += 1
        }
        return ended
    }
}
