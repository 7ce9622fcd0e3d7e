internal import PostgreSQLClient
internal import Vocabulary
internal import WalletStore

/// Steps that end wallets.
///
/// Each destroys the wallet's shares in its commit. A wallet that has already ended is left unchanged.
extension StoreTransaction {
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) throws -> CodeRevocationOutcome {
        guard let wallet = try self.wallet(ofDeletionCode: digest) else { return .notRecognised }
        guard let values = try self.lock(wallet) else { return .notRecognised }
        let isFirst = try self.end(values, as: .byDeletionCode, at: now)
        return .revoked(wallet, at: isFirst ? now : values.row.state.revokedAt)
    }

    func recordWipe(of wallet: WalletID, at now: Timestamp) throws {
        guard let values = try self.lock(wallet) else { return }
        try self.end(values, as: .byWipe, at: now)
    }

    /// Reads every wallet before ending any, so that nothing is written if one is unknown.
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

    /// Denies a code, ordered with respect to every link to it.
    ///
    /// Returns the time of an earlier denial, or nil if this is the first.
    ///
    /// Invariant (G7): from the commit on, no wallet is linked to the code: a link takes the same lock and ends its
    /// wallet. A search that begins after the commit therefore finds every linked wallet, and needs no lock while it
    /// reads.
    func deny(recoveryCode mac: RecoveryCodeMAC, at now: Timestamp) throws -> Timestamp? {
        try self.lock(recoveryCode: mac.bytes)
        if let before = try self.denied(mac.bytes) { return before }
        self.isOnRecord = true
        try self.run(
            "insert into denied_recovery_codes (mac, denied_at) values ($1, $2)",
            [.bytes(mac.bytes), .number(now.milliseconds)]
        )
        return nil
    }

    /// Returns the wallets linked to a recovery code, including ended ones, among the next `limit` wallets after a
    /// cursor, and the cursor to continue after, or nil at the end.
    ///
    /// Reads every wide row: an index would be written only for a right PIN.
    func wallets(
        linkedTo mac: RecoveryCodeMAC,
        after cursor: Int64,
        lookingAt limit: Int
    ) throws -> (found: [WalletID], next: Int64?) {
        let page = try self.run(
            """
            select max(place), count(*) from (
                select place from wallet_values where place > $1 order by place limit $2
            ) page
            """,
            [.number(cursor), .number(Int64(limit))]
        )
        guard let last = page.number(0, 0), let count = page.number(0, 1) else { return ([], nil) }
        let rows = try self.run(
            """
            select v.id, w.record from wallet_values v left join wallets w on w.id = v.id
            where v.place > $1 and v.place <= $2 and v.recovery_mac = $3
            """,
            [.number(cursor), .number(last), .bytes(mac.bytes)]
        )
        let found = try (0..<rows.count).compactMap { at -> WalletID? in
            // A wallet without a link has a MAC of all zeros. A damaged row is not judged, and does not delay any other
            // wallet.
            guard rows.bytes(at, 1).flatMap({ NarrowRow(decoding: $0) })?.state.isLinked == true else { return nil }
            return try rows.identifier(at, 0)
        }
        return (found, count < limit ? nil : last)
    }

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
        return rows.count == 0 ? nil : try rows.identifier(0, 0)
    }
}
