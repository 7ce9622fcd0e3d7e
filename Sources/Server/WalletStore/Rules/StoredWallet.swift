package import PINPolicy
internal import Secrets
package import Vocabulary

/// The facts of a store that the rules for each wallet depend on, as of the current step.
package struct StoreFacts: Sendable {
    package var isSolutionRevoked = false
    /// The charges of all epochs except the first, in order.
    package var charges: [EpochCharge] = []
    /// The newest version of the vault's keys that was activated; nil before the first.
    package var receiptVersion: UInt32?

    /// The store's epoch, which starts at 1.
    package var epoch: UInt32 { UInt32(self.charges.count + 1) }

    package init() {}
}

/// A wallet as the rules see it: its row, its attempts and its next shares.
///
/// The rules are pure functions, the same for all stores. Each says what changes; a store reads, locks and writes.
package struct StoredWallet: Sendable {
    package var row: WalletRow
    /// Nil if they are damaged, in which case no PIN is judged.
    package var attempts: KeptAttempts?
    package var next: NextShares

    package init(row: WalletRow, attempts: KeptAttempts?, next: NextShares) {
        self.row = row
        self.attempts = attempts
        self.next = next
    }

    /// Permanently ends the wallet and destroys its shares.
    package mutating func end(_ revocation: Revocation, at now: Timestamp) {
        self.row.revoke(revocation, at: now)
        self.next = NextShares()
    }
}

// MARK: Sessions

/// The outcome of a session, and the parts of the wallet that it changes.
package struct BegunSession: Sendable {
    package let outcome: SessionOutcome
    /// Whether the proof was accepted.
    ///
    /// Otherwise, the outcome depends on no attempt.
    package var isAdmitted = true
    package var changed: WalletParts = []

    /// The outcome for a wallet that the store does not have.
    package static let ofUnknownWallet = BegunSession(outcome: .identityChanged, isAdmitted: false)
}

extension StoredWallet {
    /// Accepts the counter from a session's verified proof, records the first session, and corrects a block after the
    /// clock was set back.
    ///
    /// Charges that the counts do not include yet are stored only if the block is corrected.
    package mutating func begin(_ session: NewSession, _ facts: StoreFacts) throws(StoreError) -> BegunSession {
        var changed: WalletParts = []
        switch self.row.admit(session) {
        case .rejected(let outcome): return BegunSession(outcome: outcome, isAdmitted: false)
        case .changed: changed.insert(.row)
        case .unchanged: break
        }
        if let revocation = self.row.state.revocation(isSolutionRevoked: facts.isSolutionRevoked) {
            return BegunSession(outcome: .revoked(revocation), changed: changed)
        }
        guard var charged = self.attempts else { throw .corrupt }
        let isBehind = charged.enter(try self.row.state.missing(of: facts.charges), policy: session.policy)
        let isCorrected = charged.record.holdBlockToItsLength(now: session.now)
        if isCorrected {
            self.attempts = charged
            changed.insert(.attempts)
            if isBehind {
                self.row.state.epoch = facts.epoch
                changed.insert(.row)
            }
        }
        let pinState = charged.record.state(policy: session.policy, now: session.now)
        let isReleased = pinState != .blockedPermanently
        return BegunSession(
            outcome: .active(
                pinKeyID: self.row.pinKeyID,
                pinState: pinState,
                // rule: store-share-for-blocked-wallet
                presenceShare: isReleased ? self.row.presenceShare : nil,
                nextPresenceShare: isReleased ? self.next.presence : nil,
                receiptVersion: facts.receiptVersion,
                attempts: charged.counts(epoch: UInt64(facts.epoch))
            ),
            changed: changed
        )
    }
}

// MARK: Replacing shares

extension StoredWallet {
    /// Makes the confirmed shares current and destroys those that they replace.
    ///
    /// If the outcome is not ``ShareConfirmationOutcome/replaced``, nothing has changed.
    ///
    /// Invariant: a PIN change sent by a wallet before a confirmation takes effect before the confirmation or never,
    /// because the wallet may have sealed the slot for that PIN under the old share alone. The confirmation therefore
    /// requires the identity that the wallet's PIN was valid for, and replaces its sealed value, which a PIN change
    /// names.
    package mutating func confirm(
        _ confirmation: ShareConfirmation,
        _ facts: StoreFacts
    ) -> ShareConfirmationOutcome {
        if let revocation = self.row.state.revocation(isSolutionRevoked: facts.isSolutionRevoked) {
            return .revoked(revocation)
        }
        var (row, next) = (self.row, self.next)
        guard row.identity.hasSameBytes(as: confirmation.identity), confirmation.resealed.count == row.identity.count
        else { return .notOffered }
        row.identity = confirmation.resealed  // rule: server-replacement-keeps-identity
        if let unlock = confirmation.unlock {
            guard unlock == next.unlock, unlock.count == row.unlockShare.count else { return .notOffered }
            row.unlockShare = unlock  // rule: shares-old-stay-current
            next.unlock = nil
        }
        if let presence = confirmation.presence {
            guard presence == next.presence, presence.count == row.presenceShare.count else { return .notOffered }
            row.presenceShare = presence
            next.presence = nil
        }
        (self.row, self.next) = (row, next)
        return .replaced
    }
}

// MARK: Judging

extension StoredWallet {
    /// The outcome of an attempt, and the facts about its verdict; they are nil if there is no verdict.
    package struct JudgedAttempt: Sendable {
        package var outcome: AttemptOutcome
        package var judgment: Judgment?
        package var leaf: AttemptLeaf?
        /// The parts of the wallet that the attempt changes.
        package var changed: WalletParts = []
    }

    /// Counts and judges an attempt.
    ///
    /// Invariant (G3): if the wallet's row names an epoch earlier than the store's, the wallet is judged as if the
    /// rules of all epochs since then had been applied. The commit that applies a charge also writes the new epoch, so
    /// a charge is neither forgotten nor applied twice. That commit is the same for every verdict.
    ///
    /// An instruction that writes takes effect by ``Judgment/apply(_:to:isDenied:)`` afterwards. Until then, a right
    /// PIN has the outcome of a wrong one.
    package mutating func judge(_ attempt: Attempt, _ facts: StoreFacts) throws(StoreError) -> JudgedAttempt {
        guard var charged = self.attempts else { throw .corrupt }
        let judgment: Judgment
        switch try attempt.judge(&charged, self.row.state, self.row.pinKeyID, identity: self.row.identity, facts) {
        case .rejected(let outcome): return JudgedAttempt(outcome: outcome)
        case .judged(let made): judgment = made
        }
        var changed: WalletParts = []
        if judgment.isChange {  // rule: store-count-not-kept
            self.attempts = charged
            changed.insert(.attempts)
            if judgment.entersEpoch {
                self.row.state.epoch = facts.epoch
                changed.insert(.row)
            }
        }
        let outcome: AttemptOutcome =
            switch attempt.effect {
            case .releaseShare: judgment.release(self.row.unlockShare, next: self.next.unlock)
            case .readDeletionCode: judgment.release(deletionCode: self.row.deletionCode)
            case .replacePINKey, .linkRecoveryCode: .notValid(judgment.verdict)
            }
        let leaf = judgment.leaf(of: attempt, after: charged)
        return JudgedAttempt(outcome: outcome, judgment: judgment, leaf: leaf, changed: changed)
    }
}
