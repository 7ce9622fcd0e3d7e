internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Ends of wallets. Each destroys the wallet's shares in its commit; a wallet that has ended stays as it is.
extension StoreTransaction {
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) throws -> CodeRevocationOutcome {
        guard let wallet = try self.wallet(ofDeletionCode: digest) else { return .notRecognised }
        guard let values = try self.lock(wallet) else { return .notRecognised }
        let isFirst = try self.end(values, as: .byUser, at: now)
        return .revoked(wallet, at: isFirst ? now : values.row.state.revokedAt)
    }

    func recordWipe(of wallet: WalletID, at now: Timestamp) throws {
        guard let values = try self.lock(wallet) else { return }
        try self.end(values, as: .byUser, at: now)
    }

    /// Reads every wallet before it ends one: if one is unknown, nothing is written.
    func revoke(wallets: [WalletID], at now: Timestamp) throws -> WalletsRevocationOutcome {
        let found = try self.lock(wallets)
        let known = Set(found.map(\.id))
        let unknown = wallets.filter { !known.contains($0) }
        guard unknown.isEmpty else { return .unknown(unknown) }
        var ended = 0
        for values in found
        where try self.end(values, as: Revocation(reason: .wallet, mayRegisterAnew: true), at: now) { ended += 1 }
        return .revoked(now: ended, before: wallets.count - ended)
    }

    func end(_ wallets: [WalletID], as revocation: Revocation, at now: Timestamp) throws -> WalletsEnding {
        let found = try self.lock(wallets)
        var ending = WalletsEnding(unknown: Set(wallets).count - found.count)
        for values in found {
            if try self.end(values, as: revocation, at: now) { ending.ended += 1 } else { ending.before += 1 }
        }
        return ending
    }

    /// Denies a code and ends its wallets, ordered with every link to it.
    func revoke(recoveryCode mac: RecoveryCodeMAC, at now: Timestamp) throws -> RecoveryCodeRevocationOutcome {
        try self.lock(recoveryCode: mac.bytes)
        let before = try self.denied(mac.bytes)
        if before == nil {
            self.isOnRecord = true
            try self.run(
                "insert into denied_recovery_codes (mac, denied_at) values ($1, $2)",
                [.bytes(mac.bytes), .number(now.milliseconds)]
            )
        }
        let linked = try self.wallets(linkedTo: mac)
        var ended = 0
        for values in try self.lock(linked)
        where try self.end(values, as: Revocation(reason: .recoveryCode, mayRegisterAnew: false), at: now) {
            ended += 1
        }
        return RecoveryCodeRevocationOutcome(
            deniedAt: before ?? now,
            wasDenied: before != nil,
            linked: Set(linked),
            ended: ended
        )
    }

    /// Returns the wallets linked to a recovery code, including ended ones.
    ///
    /// Reads every wide row: an index would be written only for a right PIN.
    func wallets(linkedTo mac: RecoveryCodeMAC) throws -> [WalletID] {
        let rows = try self.session.scan(
            """
            select v.id, w.record from wallet_values v left join wallets w on w.id = v.id where v.recovery_mac = $1
            """,
            [.bytes(mac.bytes)]
        )
        return try (0..<rows.count).compactMap { at in
            guard let narrow = rows.bytes(at, 1).flatMap({ NarrowRow(decoding: $0) }) else { throw StoreError.corrupt }
            // A wallet without a link has the MAC of zeros.
            return narrow.state.isLinked ? try rows.identifier(at, 0) : nil
        }
    }

    func wallet(ofDeletionCode digest: SHA256Digest) throws -> WalletID? {
        let rows = try self.run("select id from wallet_values where deletion_digest = $1", [.bytes(digest.bytes)])
        return rows.count == 0 ? nil : try rows.identifier(0, 0)
    }
}
