internal import GRDB
import Vocabulary

/// The steps that end wallets.
///
/// Each of them destroys both shares in the same commit. A wallet that has already ended is left unchanged.
extension StoreConnection {
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) throws -> CodeRevocationOutcome {
        let statement = try self.db.makeStatement(sql: "SELECT id FROM wallets WHERE deletion_digest = ?")
        guard let id: WalletID = try statement.first([digest.blob], { try $0.identifier(0) }) else {
            return .notRecognised
        }
        guard var row = try self.wallet(id) else { throw StoreError.corrupt }
        try self.revoke(&row, .byDeletionCode, at: now)
        return .revoked(id, at: row.state.revokedAt)
    }

    func recordWipe(of wallet: WalletID, at now: Timestamp) throws {
        guard var row = try self.wallet(wallet) else { return }
        try self.revoke(&row, .byWipe, at: now)
    }

    /// Revokes wallets after reading all of them, so that nothing is written if one is unknown.
    func revoke(wallets: [WalletID], at now: Timestamp) throws -> WalletsRevocationOutcome {
        var rows: [WalletRow] = []
        var unknown: [WalletID] = []
        for id in wallets {
            if let row = try self.wallet(id) { rows.append(row) } else { unknown.append(id) }
        }
        guard unknown.isEmpty else { return .unknown(unknown) }
        var ended = 0
        for var row in rows {
            if row.state.revocation == nil { ended += 1 }
            try self.revoke(&row, Revocation(reason: .wallet, mayRegisterAnew: true), at: now)
        }
        return .revoked(now: ended, before: rows.count - ended)
    }

    /// Denies a code and ends its wallets in a single step that is ordered with respect to every link.
    ///
    /// These wallets are the ones that the search found, plus those linked since the search began.
    ///
    /// - Parameter found: The results of ``linked(to:after:atMost:)``, all obtained since `search` began.
    func revoke(
        recoveryCode mac: RecoveryCodeMAC,
        found: [WalletID],
        during search: LinkSearch,
        at now: Timestamp
    ) throws -> RecoveryCodeRevocationOutcome {
        let before = try self.denied(mac)
        if before == nil {
            try self.db.execute(
                sql: "INSERT INTO denied_recovery_codes (mac, denied_at) VALUES (?, ?)",
                arguments: [mac.blob, now.milliseconds]
            )
            try self.keepAuditMark()
        }
        guard let linkedMeanwhile = self.linkedDuring[search] else { throw StoreError.corrupt }
        var linked: Set<WalletID> = []
        var ended = 0
        for id in linkedMeanwhile.union(found) {
            // A wallet found by the search may have been purged since.
            guard var row = try self.wallet(id), row.state.isLinked, row.recoveryMAC == mac.bytes else { continue }
            linked.insert(id)
            if row.state.revocation == nil { ended += 1 }
            try self.revoke(&row, Revocation(reason: .recoveryCode, mayRegisterAnew: false), at: now)
        }
        return RecoveryCodeRevocationOutcome(
            deniedAt: before ?? now,
            wasDenied: before != nil,
            linked: linked,
            ended: ended
        )
    }
}

/// Identifies a search for a recovery code's wallets, which takes many steps.
struct LinkSearch: Hashable {
    private let number = UInt64.random(in: .min ... .max)
}
