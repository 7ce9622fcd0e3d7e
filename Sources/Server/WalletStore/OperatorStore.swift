package import PINPolicy
package import Vocabulary

/// What operators read and change of a store, and what is kept for them.
///
/// As in ``WalletStore``, every operation is one atomic step; the conditions are looked at within it. Where several
/// servers share a store, each learns of another's changes by ``operatorValues()``.
package protocol OperatorStore: Sendable {
    /// What is on file of a wallet; nil for an unknown one.
    func report(of wallet: WalletID) async throws(StoreError) -> StoredWallet?

    /// Ends wallets for good and destroys their shares: all of them, or none where one is unknown.
    ///
    /// One that has ended already stays as it is.
    func revoke(wallets: [WalletID], at now: Timestamp) async throws(StoreError) -> WalletsRevocationOutcome

    /// Ends wallets for good, as what the caller found out, and destroys their shares; those that are unknown, or have
    /// ended, are passed over.
    func end(_ wallets: [WalletID], as revocation: Revocation, at now: Timestamp) async throws(StoreError)
        -> WalletsEnding

    /// Puts a recovery code on the deny list, ends the wallets that are linked to it and destroys their shares.
    ///
    /// Both are one step with which every link is ordered, so that a wallet that is linked later ends in its own step.
    func revoke(recoveryCode mac: RecoveryCodeMAC, at now: Timestamp) async throws(StoreError)
        -> RecoveryCodeRevocationOutcome

    /// The wallets that are linked to a recovery code, also those that have ended.
    func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID]

    /// Revokes the whole solution, or takes that back; shares are kept. Returns whether it made a difference.
    func setSolutionRevoked(_ isRevoked: Bool) async throws(StoreError) -> Bool

    /// At most `limit` recovery codes of the deny list, ascending, from the first or from the one behind `after` on; and
    /// whether others follow.
    func denied(after: RecoveryCodeMAC?, limit: Int) async throws(StoreError) -> (
        entries: [StoredDenial], hasMore: Bool
    )

    /// Since when a recovery code is on the deny list; nil where it is not.
    func denied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp?

    /// Takes a recovery code off the deny list; since when it was on it, nil where it was not.
    ///
    /// The wallets that were revoked by it stay so.
    func removeDenied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp?

    /// All that operators have set.
    func operatorValues() async throws(StoreError) -> OperatorValues

    /// Sets some values in one step, each nil one is removed; all that is set then.
    func setOperatorValues(_ values: [String: String?], at now: Timestamp) async throws(StoreError) -> OperatorValues

    /// Which wallet has the deletion code of this SHA-256; nil where none has, for good.
    func wallet(ofDeletionCode digest: SHA256Digest) async throws(StoreError) -> WalletID?

    /// When the wallet that had the deletion code of this SHA-256 ended, if it was purged since; nil where none was.
    func purged(deletionCode digest: SHA256Digest) async throws(StoreError) -> Timestamp?

    /// At most `limit` wallets in the order of their registration, from the first one or from the one behind the place
    /// `after` on; fewer only at the end.
    func listing(after: UInt64?, limit: Int) async throws(StoreError) -> [StoredListing]

    /// How long commits took since the start.
    var commitLatency: CommitLatency { get }

    /// Keeps when wallets had their last sessions; those that are gone are passed over.
    func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError)
}

/// What is on file of a wallet.
package struct StoredWallet: Sendable {
    package var identity: Sealed
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's own end; nil while it is in use.
    package var revocation: Revocation?
    /// Meaningful where revoked.
    package var revokedAt: Timestamp
    package var isSolutionRevoked: Bool
    package var isLinkedToRecoveryCode: Bool
    /// One was given at registration; a revoked wallet's is overwritten.
    package var hasDeletionCode: Bool
    package var assertionCounter: UInt32?
    /// As it is kept; ``attempts(under:)`` is what counts.
    package var attempts: AttemptRecord
    /// What restores cost and is not counted there yet.
    package var epochCharges: ArraySlice<EpochCharge>
    /// What was attested, a JSON object.
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
        attempts: AttemptRecord,
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

/// A wallet among all.
package struct StoredListing: Hashable, Sendable {
    /// Where it stands in the order of registration; no other wallet ever stands there.
    package var place: UInt64
    package var walletID: WalletID
    /// As it was attested; nil where that does not say.
    package var platform: Platform?
    package var registeredAt: Timestamp
    package var sessionOpened: Bool
    package var lastSession: Timestamp?
    /// The wallet's own end; nil while it is in use.
    package var revocation: Revocation?
    /// As it is kept; ``attempts(under:)`` is what counts.
    package var attempts: AttemptRecord
    /// What restores cost and is not counted there yet.
    package var epochCharges: ArraySlice<EpochCharge>

    package init(
        place: UInt64,
        walletID: WalletID,
        platform: Platform?,
        registeredAt: Timestamp,
        sessionOpened: Bool,
        lastSession: Timestamp?,
        revocation: Revocation?,
        attempts: AttemptRecord,
        epochCharges: ArraySlice<EpochCharge> = []
    ) {
        self.place = place
        self.walletID = walletID
        self.platform = platform
        self.registeredAt = registeredAt
        self.sessionOpened = sessionOpened
        self.lastSession = lastSession
        self.revocation = revocation
        self.attempts = attempts
        self.epochCharges = epochCharges
    }
}

extension StoredWallet {
    /// What counts under a policy, with what restores cost.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord {
        var attempts = self.attempts
        attempts.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

extension StoredListing {
    /// What counts under a policy, with what restores cost.
    package func attempts(under policy: AttemptPolicy) -> AttemptRecord {
        var attempts = self.attempts
        attempts.enter(self.epochCharges, policy: policy)
        return attempts
    }
}

package enum WalletsRevocationOutcome: Hashable, Sendable {
    /// All have ended: so many in this step, and so many before it.
    case revoked(now: Int, before: Int)
    /// There are no wallets of these ids; none of the others ended.
    case unknown([WalletID])
}

/// What became of a recovery code and the wallets that are linked to it.
package struct RecoveryCodeRevocationOutcome: Hashable, Sendable {
    /// Since when it is on the deny list.
    package var deniedAt: Timestamp
    /// It was on it before this step.
    package var wasDenied: Bool
    /// All wallets that are linked to it; each has ended, now or before.
    package var linked: Set<WalletID>
    /// Those that this step ended.
    package var ended: Int

    package init(deniedAt: Timestamp, wasDenied: Bool, linked: Set<WalletID>, ended: Int) {
        self.deniedAt = deniedAt
        self.wasDenied = wasDenied
        self.linked = linked
        self.ended = ended
    }
}

/// A recovery code on the deny list.
package struct StoredDenial: Hashable, Sendable {
    package var mac: RecoveryCodeMAC
    package var deniedAt: Timestamp

    package init(mac: RecoveryCodeMAC, deniedAt: Timestamp) {
        self.mac = mac
        self.deniedAt = deniedAt
    }
}

/// What operators have set, as it is kept: texts by their names.
package struct OperatorValues: Hashable, Sendable {
    /// Raised by every change, so that an older state is known for one.
    package var revision: Int64
    package var values: [String: Value]

    /// One text and when it was set.
    package struct Value: Hashable, Sendable {
        package var text: String
        package var setAt: Timestamp

        package init(_ text: String, setAt: Timestamp) {
            self.text = text
            self.setAt = setAt
        }
    }

    package init(revision: Int64, values: [String: Value]) {
        self.revision = revision
        self.values = values
    }
}
