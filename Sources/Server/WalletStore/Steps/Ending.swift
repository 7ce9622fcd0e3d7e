internal import PINPolicy
package import Vocabulary

package enum WalletsRevocationOutcome: Hashable, Sendable {
    /// All wallets have ended: `now` of them in this step, `before` of them earlier.
    case revoked(now: Int, before: Int)
    /// No wallets with these ids exist, so none of the others were ended.
    case unknown([WalletID])
}

private let barring = SideStatement.insert(into: .barredHardwareKeys, ifKnown: .stays)

/// The steps that end wallets.
///
/// Each of them destroys both shares in its commit. A wallet that has already ended is left unchanged. A wallet that
/// cannot be read is removed, except for its deletion code: its row cannot be changed, and may still contain shares.
extension Rows {
    /// Holds the known ones of these wallets, and returns those that cannot be read.
    fileprivate func find(_ wallets: [WalletID]) throws -> (held: [Held], damaged: [WalletID]) {
        let held = try wallets.inLockOrder(\.self).compactMap { try self.holdIntact($0) }
        let known = Set(held.map(\.id))
        let others = wallets.filter { !known.contains($0) }
        return (held, others.isEmpty ? [] : try self.find(.these(others)).wallets.compactMap(\.id))
    }

    /// Ends a held wallet permanently; returns false if it has already ended.
    func end(_ held: Held, as revocation: Revocation, at now: Timestamp) throws -> Bool {
        guard held.wallet.row.state.revocation == nil else {
            self.noteDestroyedBefore()
            return false
        }
        self.noteDestroyed()  // rule: store-log-keeps-shares
        var held = held
        held.wallet.end(revocation, at: now)
        // rule: store-revocation-not-kept
        try self.keep(held, [.row, .nextShares])
        try self.keepEnd(of: held.id, at: now)
        if !revocation.mayRegisterAnew {
            // The key stays barred after the wallet is purged. If the device registers with a new hardware key, the
            // deny list rejects its next link to the recovery code.
            try self.query(barring, [.bytes(held.wallet.row.hardwareKey.bytes)])
        }
        try self.noteAudited()  // rule: store-mark-not-kept
        return true
    }

    /// Returns the number of wallets that had not ended before.
    fileprivate func end(
        _ found: (held: [Held], damaged: [WalletID]),
        as revocation: Revocation,
        at now: Timestamp
    ) throws -> Int {
        var ended = found.damaged.count
        for held in found.held where try self.end(held, as: revocation, at: now) { ended += 1 }
        guard !found.damaged.isEmpty else { return ended }
        self.noteDestroyed()
        for wallet in found.damaged {
            // Other servers close its connections.
            try self.keepEnd(of: wallet, at: now)
            try self.keepPurgedCode(of: wallet, endedAt: now)
        }
        try self.remove(found.damaged)
        try self.noteAudited()
        return ended
    }
}

/// Revokes the wallet whose deletion code has this SHA-256 digest.
package struct RevokeByDeletionCode: StoreStep {
    let digest: SHA256Digest
    let now: Timestamp
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> CodeRevocationOutcome {
        guard let wallet = try rows.wallet(ofDeletionCode: self.digest) else { return .notRecognised }
        guard let held = try rows.hold(wallet, with: []) else {
            // Another transaction has removed the wallet meanwhile, or the wallet lacks a part of its rows.
            guard try rows.wallet(ofDeletionCode: self.digest) == nil else { throw StoreError.corrupt }
            return .notRecognised
        }
        let isFirst = try rows.end(held, as: .byDeletionCode, at: self.now)
        return .revoked(wallet, at: isFirst ? self.now : held.wallet.row.state.revokedAt)
    }
}

/// Ends wallets; if any of them is unknown, ends none.
package struct EndAllOrNone: StoreStep {
    let wallets: [WalletID]
    let now: Timestamp
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> WalletsRevocationOutcome {
        let wallets = self.wallets.once
        let found = try rows.find(wallets)
        let known = Set(found.held.map(\.id) + found.damaged)
        let unknown = wallets.filter { !known.contains($0) }
        guard unknown.isEmpty else { return .unknown(unknown) }
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        let ended = try rows.end(found, as: revocation, at: self.now)
        return .revoked(now: ended, before: wallets.count - ended)
    }
}

/// Ends the known ones of these wallets; returns the number of those that had not ended before.
package struct EndWallets: StoreStep {
    let wallets: [WalletID]
    let revocation: Revocation
    let now: Timestamp
    package static let access = StepAccess.writing

    package init(_ wallets: [WalletID], as revocation: Revocation, at now: Timestamp) {
        (self.wallets, self.revocation, self.now) = (wallets, revocation, now)
    }

    package func run(in rows: some Rows) throws -> Int {
        try rows.end(try rows.find(self.wallets.once), as: self.revocation, at: self.now)
    }
}

/// Permanently blocks the wallets that an audit log records as blocked, and marks their blocks as recorded.
package struct BlockPermanently: StoreStep {
    let wallets: [WalletID]
    package static let access = StepAccess.writing

    package init(_ wallets: [WalletID]) { self.wallets = wallets }

    package func run(in rows: some Rows) throws -> Int {
        var blocked = 0
        for wallet in self.wallets.inLockOrder(\.self) {
            // The PINs of a damaged wallet are not judged.
            guard var held = try rows.holdIntact(wallet, with: .attempts), held.wallet.row.state.revocation == nil,
                held.wallet.attempts?.record.isBlockedPermanently == false
            else { continue }
            held.wallet.attempts?.record.blockPermanently()
            try rows.keep(held, .attempts)
            blocked += 1
        }
        try rows.noteRecorded(blocksOf: self.wallets)
        return blocked
    }
}

/// Removes those of these wallets that ended before a time, except for their deletion codes.
package struct PurgeWallets: StoreStep {
    let wallets: [WalletID]
    let limit: Timestamp
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws -> Int {
        // A wallet that cannot be read is locked, too, and its state is enough.
        for wallet in self.wallets.once.inLockOrder(\.self) { _ = try rows.holdIntact(wallet) }
        var gone: [WalletID] = []
        for wallet in try rows.find(.these(self.wallets)).wallets {
            // rule: store-used-wallet-purged
            guard let id = wallet.id, let state = wallet.state, state.revocation != nil, state.revokedAt < self.limit
            else { continue }
            try rows.keepPurgedCode(of: id, endedAt: state.revokedAt)
            gone.append(id)
        }
        try rows.remove(gone)
        try rows.noteAudited()
        return gone.count
    }
}

extension WalletStore {
    /// Revokes the wallet whose deletion code has this SHA-256 digest and destroys its shares.
    ///
    /// A repeated call returns the same answer.
    package func revoke(
        byDeletionCode digest: SHA256Digest,
        at now: Timestamp
    ) async throws(StoreError) -> CodeRevocationOutcome {
        try await self.perform(RevokeByDeletionCode(digest: digest, now: now))
    }

    /// Revokes a wallet on behalf of its user and destroys its shares.
    ///
    /// A revoked wallet is left unchanged.
    package func recordWipe(of wallet: WalletID, at now: Timestamp) async throws(StoreError) {
        _ = try await self.end([wallet], as: .byWipe, at: now)
    }

    /// Permanently ends wallets and destroys their shares.
    ///
    /// If any of them is unknown, ends none. A wallet that has already ended is left unchanged.
    package func revoke(
        wallets: [WalletID],
        at now: Timestamp
    ) async throws(StoreError) -> WalletsRevocationOutcome {
        try await self.perform(EndAllOrNone(wallets: wallets, now: now))
    }

    /// Permanently ends wallets with this revocation and destroys their shares, some of them in each step.
    ///
    /// Ignores wallets that are unknown or have ended, and returns the number of the others.
    ///
    /// Invariant (G7): neither a damaged wallet nor a step that left copies of destroyed shares in the log keeps the
    /// other wallets from ending. ``StoreError/notErased`` is thrown after the last step, and callers treat all wallets
    /// as ended.
    package func end(
        _ wallets: [WalletID],
        as revocation: Revocation,
        at now: Timestamp
    ) async throws(StoreError) -> Int {
        var (ended, isErased) = (0, true)
        for page in wallets.pieces(of: endedAtOnce) {
            do throws(StoreError) {
                ended += try await self.perform(EndWallets(page, as: revocation, at: now))
            } catch {
                guard error == .notErased else { throw error }
                isErased = false
            }
        }
        guard isErased else { throw .notErased }
        return ended
    }

    /// Permanently blocks the wallets that an audit log records as blocked.
    ///
    /// Returns the number of newly blocked wallets. Ignores wallets that are unknown, have ended or have a damaged
    /// record. Used by a restore.
    package func blockPermanently(_ wallets: [WalletID]) async throws(StoreError) -> Int {
        var blocked = 0
        for page in wallets.pieces(of: endedAtOnce) {
            blocked += try await self.perform(BlockPermanently(page))
        }
        return blocked
    }
}

extension WalletStore {
    /// Removes wallets that ended before `limit`, keeping only the data of their deletion codes.
    ///
    /// Returns the number of removed wallets. If it throws, some of them may have been removed.
    package func purge(_ wallets: [WalletID], endedBefore limit: Timestamp) async throws(StoreError) -> Int {
        var purged = 0
        for page in wallets.pieces(of: self.limits.removedAtOnce) {
            purged += try await self.perform(PurgeWallets(wallets: page, limit: limit))
        }
        return purged
    }
}

/// The maximum number of wallets that one step ends or blocks, so that PIN checks do not wait long.
package let endedAtOnce = 200
