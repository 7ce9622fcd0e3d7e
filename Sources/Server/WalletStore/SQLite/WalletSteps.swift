import PINPolicy
internal import SQLiteClient
import Vocabulary

/// Insertion and removal of wallets.
extension StoreConnection {
    /// The maximum sizes of the sealed values.
    ///
    /// Together, they ensure that a row fits into one page of 4096 bytes.
    private static let largestIdentity = 2048
    private static let largestShare = 512

    func insert(_ registration: NewRegistration) throws {
        precondition(registration.identity.count <= Self.largestIdentity, "a sealed identity must fit into a row")
        precondition(
            max(registration.unlockShare.count, registration.presenceShare.count) <= Self.largestShare
                && registration.deletionCode?.sealed.count ?? 0 <= Self.largestShare,
            "sealed shares and codes must fit into a row"
        )
        let row = WalletRow(registering: registration, as: WalletKey(number: 0), in: self.facts.epoch)
        try self.db.run(
            WalletRow.addition,
            (row.values + [registration.walletID.bytes]).map { .bytes($0) } + [
                registration.deletionCode.map { .bytes($0.digest.bytes) } ?? .null,
                .number(registration.now.milliseconds),
            ]
        )
        let key = self.db.lastInsertedRow
        // Added at registration, so that a missing row means damage and not an empty record.
        let attempts = KeptAttempts(as: self.key.form).encoded(of: registration.walletID, by: self.key)
        try self.db.run(
            "INSERT OR REPLACE INTO attempts (wallet, record) VALUES (?, ?)",
            [.number(key), .bytes(attempts)]
        )
        try self.db.run(
            "INSERT INTO attestations (wallet, attested) VALUES (?, ?)",
            [.number(key), .text(registration.attested)]
        )
        try self.db.run(
            "INSERT INTO unopened (place, id, registered_at) VALUES (?, ?, ?)",
            [.number(key), .bytes(registration.walletID.bytes), .number(registration.now.milliseconds)]
        )
    }

    func remove(_ wallets: [WalletID]) throws {
        let keys = try wallets.compactMap { wallet in
            try self.db.number("SELECT key FROM wallets WHERE id = ?", [.bytes(wallet.bytes)])
        }
        for (table, column) in [
            ("wallets", "key"), ("attestations", "wallet"), ("unopened", "place"), ("attempts", "wallet"),
            // rule: store-ended-row-left-behind
            ("last_sessions", "wallet"), ("ended", "wallet"), ("next_shares", "wallet"), ("recorded_blocks", "wallet"),
        ] {
            for key in keys { try self.db.run("DELETE FROM \(table) WHERE \(column) = ?", [.number(key)]) }
        }
        if self.hasNextShares { try self.findNextShares() }
    }

    /// Records a wallet's end.
    ///
    /// If called again, the first end counts.
    func keepEnd(of wallet: WalletID, at time: Timestamp) throws {
        try self.db.run(
            "INSERT OR IGNORE INTO ended (wallet, at) SELECT key, ? FROM wallets WHERE id = ?",
            [.number(time.milliseconds), .bytes(wallet.bytes)]
        )
    }

    func keepPurgedCode(of wallet: WalletID, endedAt time: Timestamp) throws {
        try self.db.run(
            """
            INSERT OR IGNORE INTO purged_codes (digest, revoked_at)
            SELECT deletion_digest, ? FROM wallets WHERE id = ? AND deletion_digest IS NOT NULL
            """,
            [.number(time.milliseconds), .bytes(wallet.bytes)]
        )
    }
}

/// The step that G3 and G4 depend on.
///
/// The writes for a right PIN and a wrong one must not differ in kind, number of pages or width. Otherwise, PINs could
/// be tried for free on a disk that is full to the last page:
///
/// - The attempt record is written with the same width after every judged attempt, and always differs from its
///   predecessor (``KeptAttempts``). Its row exists from registration until the wallet is removed.
/// - An instruction that writes the wallet's row (a new PIN key or a link) writes it in place after every judged
///   attempt, with new or old values and a changed number of writes (``WalletState``). None of the written columns is
///   indexed, and a row fits into one page.
/// - The first judged attempt after a restore also writes the store's epoch to the wallet's row, regardless of the
///   verdict.
/// - An instruction that only reads (a share or the deletion code) writes nothing in either case.
///
/// All writes are in the same transaction as the rest of the batch, and no answer is sent before that transaction is
/// synced.
extension StoreConnection {
    /// Judges an attempt and adds its verdict to this transaction's receipts.
    func step(_ attempt: Attempt) throws -> JudgedStep {
        let judged = attempt.writes ? try WritingAttempt(attempt).run(in: self) : try self.judge(attempt)
        guard let leaf = judged.leaf, let batch = self.receipts else { return JudgedStep(outcome: judged.outcome) }
        return JudgedStep(outcome: judged.outcome, leaf: (batch, batch.add(leaf, at: attempt.now)))
    }

    /// An outcome and the position of its verdict among the receipts.
    struct JudgedStep: Sendable {
        var outcome: AttemptOutcome
        /// The position of the verdict, or nil if there is no verdict or the store issues no receipts.
        var leaf: (batch: ReceiptBatch, place: Int)?
    }

    private func judge(_ attempt: Attempt) throws -> StoredWallet.JudgedAttempt {
        guard var held = try self.attempted(attempt.walletID) else { throw StoreError.corrupt }
        let judged = try held.wallet.judge(attempt, self.facts)
        try self.keep(held, judged.changed)
        return judged
    }
}

/// Permanent blocks, and whether they are recorded in the audit log.
extension StoreConnection {
    /// Marks the permanent blocks of these wallets as recorded in the audit log.
    func noteRecorded(blocksOf wallets: [WalletID]) throws {
        for wallet in wallets {
            try self.db.run(
                "INSERT OR IGNORE INTO recorded_blocks (wallet) SELECT key FROM wallets WHERE id = ?",
                [.bytes(wallet.bytes)]
            )
        }
        try self.keepAuditMark()
    }
}
