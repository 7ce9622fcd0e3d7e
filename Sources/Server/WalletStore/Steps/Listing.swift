internal import Foundation
package import PINPolicy
package import Vocabulary

/// A wallet as operators see it.
package struct WalletReport: Sendable {
    package var identity: Sealed
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's revocation, or nil while it is in use.
    package var revocation: Revocation?
    /// The time of the revocation.
    ///
    /// Only meaningful if the wallet is revoked.
    package var revokedAt: Timestamp
    package var isSolutionRevoked: Bool
    package var isLinkedToRecoveryCode: Bool
    /// Whether a deletion code was issued at registration.
    ///
    /// The code of a revoked wallet is overwritten.
    package var hasDeletionCode: Bool
    package var assertionCounter: UInt32?
    /// The stored record, or nil if it is damaged.
    ///
    /// Use ``attempts(under:)`` for the effective record.
    package var attempts: AttemptRecord?
    /// The restore charges that the stored record does not include yet.
    package var epochCharges: ArraySlice<EpochCharge>
    /// The attested facts as a JSON object.
    package var attested: String

    package init(
        identity: Sealed,
        registeredAt: Timestamp,
        sessionOpened: Bool,
        lastSession: Timestamp?,
        revocation: Revocation?,
        revokedAt: Timestamp,
        isSolutionRevoked: Bool,
        isLinkedToRecoveryCode: Bool,
        hasDeletionCode: Bool,
        assertionCounter: UInt32?,
        attempts: AttemptRecord?,
        epochCharges: ArraySlice<EpochCharge> = [],
        attested: String
    ) {
        self.identity = identity
        self.registeredAt = registeredAt
        self.sessionOpened = sessionOpened
        self.lastSession = lastSession
        self.revocation = revocation
        self.revokedAt = revokedAt
        self.isSolutionRevoked = isSolutionRevoked
        self.isLinkedToRecoveryCode = isLinkedToRecoveryCode
        self.hasDeletionCode = hasDeletionCode
        self.assertionCounter = assertionCounter
        self.attempts = attempts
        self.epochCharges = epochCharges
        self.attested = attested
    }
}

/// A wallet in a listing.
package struct StoredListing: Hashable, Sendable {
    /// The wallet's position in order of registration.
    ///
    /// It is unique and never reused.
    package var cursor: UInt64
    package var walletID: WalletID
    /// The attested facts as a JSON object, or nil if they are missing.
    package var attested: String?
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's revocation, or nil while it is in use.
    package var revocation: Revocation?
    /// The stored record, or nil if it is damaged.
    ///
    /// Use ``attempts(under:)`` for the effective record.
    package var attempts: AttemptRecord?
    /// The restore charges that the stored record does not include yet.
    package var epochCharges: ArraySlice<EpochCharge>
}

extension WalletReport {
    /// Returns the effective record under a policy, including restore charges, or nil if the record is damaged.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord? {
        var attempts = self.attempts
        attempts?.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

extension StoredListing {
    /// The attested platform, or nil if the attested facts do not include it.
    package var platform: Platform? {
        struct Facts: Decodable { var platform: String? }
        let facts = self.attested.flatMap { try? JSONDecoder().decode(Facts.self, from: Data($0.utf8)) }
        return facts?.platform.flatMap { Platform(rawValue: $0) }
    }

    /// Returns the effective record under a policy, including restore charges, or nil if the record is damaged.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord? {
        var attempts = self.attempts
        attempts?.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

package struct ReportOfWallet: StoreStep {
    let wallet: WalletID
    package static let access = StepAccess.reading

    package init(_ wallet: WalletID) { self.wallet = wallet }

    package func run(in rows: some Rows) throws -> WalletReport? {
        guard let record = try rows.records(.these([self.wallet])).wallets.first else { return nil }
        guard let whole = record.whole, let attested = whole.attested else { throw StoreError.corrupt }
        let state = whole.row.state
        return WalletReport(
            identity: whole.row.identity,
            registeredAt: record.registeredAt,
            sessionOpened: state.sessionOpened,
            lastSession: record.lastSession,
            revocation: state.revocation,
            revokedAt: state.revokedAt,
            isSolutionRevoked: rows.facts.isSolutionRevoked,
            isLinkedToRecoveryCode: state.isLinked,
            hasDeletionCode: !whole.row.deletionCode.isEmpty,
            assertionCounter: state.assertionCounter,
            attempts: whole.attempts(by: rows.key)?.record,
            epochCharges: try state.missing(of: rows.facts.charges),
            attested: attested
        )
    }
}

package struct ListedWallets: StoreStep {
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    /// A damaged wallet is listed as one, so that it hides no other.
    package func run(in rows: some Rows) throws -> [StoredListing] {
        try rows.records(.next(after: self.after, limit: self.limit)).wallets.map { record in
            let state = record.whole?.row.state
            let charges = state.flatMap { try? $0.missing(of: rows.facts.charges) }
            return StoredListing(
                cursor: record.cursor,
                walletID: record.id,
                attested: record.whole?.attested,
                registeredAt: record.registeredAt,
                sessionOpened: state?.sessionOpened ?? false,
                lastSession: record.lastSession,
                revocation: state?.revocation,
                attempts: charges == nil ? nil : record.whole?.attempts(by: rows.key)?.record,
                epochCharges: charges ?? []
            )
        }
    }
}

package struct SealedValuesOfWallets: StoreStep {
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    package init(after: UInt64?, limit: Int) { (self.after, self.limit) = (after, limit) }

    /// Returns the values, and the wallets whose values cannot be read, so that they hide no other.
    package func run(in rows: some Rows) throws -> (page: WalletPage<SealedWallet>, unreadable: [WalletID]) {
        let page = try rows.records(.next(after: self.after, limit: self.limit))
        let sealed = page.compactMap { record in
            record.whole.map { whole in
                SealedWallet(
                    cursor: record.cursor,
                    walletID: record.id,
                    values: whole.row.sealedValues(with: whole.next)
                )
            }
        }
        return (sealed, page.wallets.filter { $0.whole == nil }.map(\.id))
    }
}

// MARK: Checks

package struct DamagedWallets: StoreStep {
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    /// Returns the damaged wallets, and those whose record has an earlier form than the one that this program writes.
    package func run(in rows: some Rows) throws -> (damaged: WalletPage<WalletID>, earlier: [WalletID]) {
        try rows.requireEveryPlace(after: self.after, limit: self.limit)
        let page = try rows.find(.next(after: self.after, limit: self.limit))
        let damaged = try page.compactMap { wallet in
            let id = try wallet.identified()
            return wallet.isDamaged ? id : nil
        }
        let earlier = page.wallets.filter { wallet in wallet.attempts.map { $0.form < rows.key.form } ?? false }
        return (damaged, earlier.compactMap(\.id))
    }
}

package struct UnrecordedBlocks: StoreStep {
    let after: UInt64?
    let limit: Int
    package static let access = StepAccess.reading

    /// A damaged wallet is not judged, and any access to it reports the damage.
    package func run(in rows: some Rows) throws -> WalletPage<WalletID> {
        try rows.find(.next(after: self.after, limit: self.limit)).compactMap { wallet in
            let isBlocked = wallet.attempts?.record.isBlockedPermanently == true
            return wallet.isInUse && isBlocked && !wallet.isBlockRecorded ? wallet.id : nil
        }
    }
}

package struct IsBlockRecorded: StoreStep {
    let wallet: WalletID
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Bool {
        try rows.find(.these([self.wallet])).wallets.contains(where: \.isBlockRecorded)
    }
}

package struct NoteRecordedBlocks: StoreStep {
    let wallets: [WalletID]
    package static let access = StepAccess.writing

    package func run(in rows: some Rows) throws { try rows.noteRecorded(blocksOf: self.wallets) }
}

/// Returns those of the wallets that are in use.
///
/// A damaged wallet cannot be served, and is treated as ended.
package struct WalletsInUse: StoreStep {
    let wallets: [WalletID]
    let unblocked: Bool
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> [WalletID] {
        let found = try rows.find(.these(self.wallets)).wallets.filter { wallet in
            wallet.isInUse && (!self.unblocked || wallet.attempts?.record.isBlockedPermanently == false)
        }
        let ids = Set(found.compactMap(\.id))
        return self.wallets.filter(ids.contains)
    }
}

package struct PurgeableWallets: StoreStep {
    let after: UInt64?
    let limit: Int
    let endedBefore: Timestamp
    package static let access = StepAccess.reading

    /// A damaged wallet stays, so that any access to it reports the damage.
    package func run(in rows: some Rows) throws -> WalletPage<WalletID> {
        try rows.find(.ended(after: self.after, before: self.endedBefore, limit: self.limit)).compactMap { wallet in
            guard let state = wallet.state, state.revocation != nil, state.revokedAt < self.endedBefore else {
                return nil
            }
            return try wallet.identified()
        }
    }
}

/// Returns whether the MACs of the attempt records were made with the key that this store was opened with.
package struct RecordKeyFits: StoreStep {
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Bool {
        guard let check = try rows.recordKeyCheck() else { throw StoreError.corrupt }
        return check == rows.key.check
    }
}

package struct NumberOfWallets: StoreStep {
    package static let access = StepAccess.reading

    package func run(in rows: some Rows) throws -> Int { try rows.walletCount() }
}

// MARK: -

extension WalletStore {
    /// Returns whether the MACs of the attempt records were made with the key that this store was opened with.
    ///
    /// Throws ``StoreError/corrupt`` if a store with wallets does not name the key of its records.
    package func recordKeyFits() async throws(StoreError) -> Bool { try await self.perform(RecordKeyFits()) }

    package func walletCount() async throws(StoreError) -> Int { try await self.perform(NumberOfWallets()) }

    /// Returns the record of a wallet, or nil if the wallet is unknown.
    package func report(of wallet: WalletID) async throws(StoreError) -> WalletReport? {
        try await self.perform(ReportOfWallet(wallet))
    }

    /// Returns up to `limit` wallets in order of registration, starting after the cursor `after` or with the first one.
    ///
    /// Returns fewer only at the end.
    package func listing(after: UInt64?, limit: Int) async throws(StoreError) -> [StoredListing] {
        try await self.perform(ListedWallets(after: after, limit: limit))
    }

    /// Returns the sealed values of up to `limit` wallets in order of registration, starting after the cursor `after`
    /// or with the first one.
    ///
    /// Skips wallets whose values cannot be read.
    package func sealedValues(after: UInt64?, limit: Int) async throws(StoreError) -> [SealedWallet] {
        try await self.perform(SealedValuesOfWallets(after: after, limit: limit)).page.wallets
    }

    /// Checks up to `limit` wallets, starting after the cursor `after` or with the first one; returns those in use
    /// whose attempt record is missing or was not written by this store, and those whose state does not decode.
    ///
    /// The SQLite store throws ``StoreError/corrupt`` if it may hide wallets, because its rows are out of order or an
    /// index does not lead to one of them.
    package func damagedWallets(after: UInt64?, limit: Int) async throws(StoreError) -> WalletPage<WalletID> {
        try await self.perform(DamagedWallets(after: after, limit: limit)).damaged
    }

    /// Examines `limit` attempt records, starting after the cursor `after` or with the first one.
    ///
    /// Returns the permanently blocked wallets in use whose block is not marked as recorded.
    package func unrecordedBlocks(
        after: UInt64?,
        lookingAt limit: Int
    ) async throws(StoreError) -> WalletPage<WalletID> {
        try await self.perform(UnrecordedBlocks(after: after, limit: limit))
    }

    /// Returns whether the wallet's permanent block is marked as recorded.
    package func isRecorded(blockOf wallet: WalletID) async throws(StoreError) -> Bool {
        try await self.perform(IsBlockRecorded(wallet: wallet))
    }

    /// Marks the permanent blocks of these wallets as recorded in the audit log.
    package func noteRecorded(blocksOf wallets: [WalletID]) async throws(StoreError) {
        for page in wallets.pieces(of: endedAtOnce) { try await self.perform(NoteRecordedBlocks(wallets: page)) }
    }

    /// Returns the given wallets that have not ended.
    package func inUse(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        try await self.inUse(wallets, unblocked: false)
    }

    /// Returns the given wallets that are in use and not permanently blocked.
    package func unblocked(_ wallets: [WalletID]) async throws(StoreError) -> [WalletID] {
        try await self.inUse(wallets, unblocked: true)
    }

    private func inUse(_ wallets: [WalletID], unblocked: Bool) async throws(StoreError) -> [WalletID] {
        var found: [WalletID] = []
        for page in wallets.pieces(of: endedAtOnce) {
            found += try await self.perform(WalletsInUse(wallets: page, unblocked: unblocked))
        }
        return found
    }

    /// Examines `limit` ended wallets, starting after the cursor `after` or with the first one.
    ///
    /// Returns those that ended before `time`.
    package func purgeable(
        after: UInt64?,
        lookingAt limit: Int,
        endedBefore time: Timestamp
    ) async throws(StoreError) -> WalletPage<WalletID> {
        try await self.perform(PurgeableWallets(after: after, limit: limit, endedBefore: time))
    }
}
