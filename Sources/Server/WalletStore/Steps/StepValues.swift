internal import PINPolicy
package import Vocabulary

/// A value sealed by the vault, which is opaque to the store.
package typealias Sealed = [UInt8]

/// A registration whose token, signatures and attestation have been verified.
package struct NewRegistration: Sendable {
    package var walletID: WalletID
    /// The SHA-256 digest of the hardware key.
    ///
    /// It must be the same if the registration is repeated.
    package var hardwareKeyDigest: SHA256Digest
    /// The platform, hardware key, app id, and PIN key with its id, sealed as a single value.
    package var identity: Sealed
    package var pinKeyID: PINKeyID
    package var unlockShare: Sealed
    package var presenceShare: Sealed
    /// The sealed deletion code and its SHA-256 digest, or nil if the feature is off.
    package var deletionCode: (sealed: Sealed, digest: SHA256Digest)?
    /// The counter of the App Attest assertion that proved the key, or nil on Android.
    package var assertionCounter: UInt32?
    /// The attested facts as a JSON object, for operators.
    package var attested: String
    package var now: Timestamp

    package init(
        walletID: WalletID,
        hardwareKeyDigest: SHA256Digest,
        identity: Sealed,
        pinKeyID: PINKeyID,
        unlockShare: Sealed,
        presenceShare: Sealed,
        deletionCode: (sealed: Sealed, digest: SHA256Digest)?,
        assertionCounter: UInt32?,
        attested: String,
        now: Timestamp
    ) {
        self.walletID = walletID
        self.hardwareKeyDigest = hardwareKeyDigest
        self.identity = identity
        self.pinKeyID = pinKeyID
        self.unlockShare = unlockShare
        self.presenceShare = presenceShare
        self.deletionCode = deletionCode
        self.assertionCounter = assertionCounter
        self.attested = attested
        self.now = now
    }
}

package enum RegisterOutcome: Hashable, Sendable {
    /// `receiptVersion` is the version of the vault's keys whose receipt key the wallet pins; nil if the store names
    /// none.
    ///
    /// Invariant: the store names the newest version that was activated, and each step reads it. So after an answer
    /// with one version, no server answers a later call with an older one, which would look like tampering to a wallet
    /// that has pinned the newer key.
    case registered(receiptVersion: UInt32?)
    /// A session was opened, the wallet was revoked, or the token belongs to another hardware key.
    ///
    /// Answered with `challenge-invalid`.
    case tokenUsed
    /// The assertion counter was used before.
    ///
    /// Answered with `authentication-failed`.
    case counterNotIncreased
    case solutionRevoked
    /// A wallet with this hardware key has ended, and its device is not allowed to register again.
    ///
    /// Answered with `revoked`.
    case hardwareKeyBarred
}

/// A wallet's sealed identity, and the facts that the order of a call depends on.
package struct StoredIdentity: Hashable, Sendable {
    package var identity: Sealed
    /// False after the first session or a revocation.
    package var mayRegisterAgain: Bool
    /// The values that a session may release, except for next shares; empty if the wallet is revoked or permanently
    /// blocked.
    ///
    /// No step replaces one of them without changing the identity, unless it revokes the wallet.
    package var released: [Sealed]

    package init(identity: Sealed, mayRegisterAgain: Bool, released: [Sealed]) {
        self.identity = identity
        self.mayRegisterAgain = mayRegisterAgain
        self.released = released
    }

    package init(_ wallet: StoredWallet, _ facts: StoreFacts) {
        let (row, state) = (wallet.row, wallet.row.state)
        let isReleased =
            state.revocation(isSolutionRevoked: facts.isSolutionRevoked) == nil
            && wallet.attempts?.record.isBlockedPermanently != true
        let values = [row.unlockShare, row.presenceShare, row.deletionCode].filter { !$0.isEmpty }
        self.init(
            identity: row.identity,
            mayRegisterAgain: state.revocation == nil && !state.sessionOpened,
            released: isReleased ? values : []
        )
    }
}

/// A session whose device proof has been verified.
package struct NewSession: Sendable {
    package var walletID: WalletID
    /// The identity that the proof was verified against.
    ///
    /// The stored one differs if the wallet has been registered again since.
    package var identity: Sealed
    /// The counter of the proof, or nil on Android.
    package var assertionCounter: UInt32?
    package var policy: AttemptPolicy
    package var now: Timestamp

    package init(
        walletID: WalletID,
        identity: Sealed,
        assertionCounter: UInt32?,
        policy: AttemptPolicy,
        now: Timestamp
    ) {
        self.walletID = walletID
        self.identity = identity
        self.assertionCounter = assertionCounter
        self.policy = policy
        self.now = now
    }
}

package enum SessionOutcome: Hashable, Sendable {
    /// The shares are nil if the wallet is permanently blocked.
    ///
    /// The next share is also nil unless the wallet's shares are being replaced. `receiptVersion` is as in
    /// ``RegisterOutcome/registered(receiptVersion:)``. `attempts` are the counts at the same time as `pinState`.
    case active(
        pinKeyID: PINKeyID,
        pinState: PINState,
        presenceShare: Sealed?,
        nextPresenceShare: Sealed?,
        receiptVersion: UInt32?,
        attempts: AttemptCounts
    )
    case revoked(Revocation)
    /// The assertion counter was used before.
    ///
    /// Answered with `authentication-failed`.
    case counterNotIncreased
    /// The identity was changed by a PIN change or a repeated registration, or the wallet was removed.
    ///
    /// The caller must read it again.
    case identityChanged
}

/// A PIN entry, with an instruction to carry out if the PIN is right.
///
/// Its signatures have been verified.
package struct Attempt: Sendable {
    package var walletID: WalletID
    package var attemptID: AttemptID
    /// The PIN key that the wallet assumes to be current.
    package var namedKeyID: PINKeyID
    /// The sealed identity that the session opened.
    ///
    /// It is compared with the stored one byte by byte. The PIN key id is not sufficient, because clients choose it and
    /// may use it twice, whereas no two sealed values are equal.
    package var identity: Sealed
    /// The PIN key in that identity, or nil if the session does not have the wallet's keys.
    ///
    /// The candidate is compared with it after the attempt has been counted.
    package var pinKey: P256PublicKey?
    /// The public key derived from the PIN that was entered.
    package var candidate: P256PublicKey
    package var effect: Effect
    package var policy: AttemptPolicy
    package var now: Timestamp

    /// The effect of a right PIN.
    ///
    /// Any values to write were sealed before the step.
    package enum Effect: Hashable, Sendable {
        /// Reads the unlock share.
        case releaseShare
        case replacePINKey(identity: Sealed, newKeyID: PINKeyID)
        /// Links the recovery code with this MAC, which the vault computed.
        ///
        /// An existing link is kept.
        case linkRecoveryCode(mac: [UInt8])
        case readDeletionCode
    }

    /// Whether the instruction writes the wallet's row, so that the attempt is a ``WritingAttempt``.
    package var writes: Bool {
        switch self.effect {
        case .releaseShare, .readDeletionCode: false
        case .replacePINKey, .linkRecoveryCode: true
        }
    }

    package init(
        walletID: WalletID,
        attemptID: AttemptID,
        namedKeyID: PINKeyID,
        identity: Sealed,
        pinKey: P256PublicKey?,
        candidate: P256PublicKey,
        effect: Effect,
        policy: AttemptPolicy,
        now: Timestamp
    ) {
        self.walletID = walletID
        self.attemptID = attemptID
        self.namedKeyID = namedKeyID
        self.identity = identity
        self.pinKey = pinKey
        self.candidate = candidate
        self.effect = effect
        self.policy = policy
        self.now = now
    }
}

/// The outcome of an attempt and its receipt.
package struct CertifiedOutcome: Hashable, Sendable {
    package var outcome: AttemptOutcome
    /// The receipt, or nil if there is no verdict or the store issues no receipts.
    package var receipt: Receipt?

    package init(_ outcome: AttemptOutcome, _ receipt: Receipt? = nil) {
        self.outcome = outcome
        self.receipt = receipt
    }
}

/// The outcome of an attempt.
///
/// The cases are in the order of the checks.
package enum AttemptOutcome: Hashable, Sendable {
    /// The wallet, its recovery code or the solution is revoked.
    ///
    /// The attempt was not judged.
    case revoked(Revocation)
    /// The client named a PIN key that is not current.
    ///
    /// The attempt was not judged.
    case pinKeyChanged(current: PINKeyID)
    /// The client named the current key, but the session opened an older identity.
    ///
    /// The attempt was not judged.
    ///
    /// Read the identity again and retry.
    case identityChanged
    /// The PIN is wrong or was not judged.
    ///
    /// The verdict is never ``PINVerdict/valid``. `hasNextShare` is true if a right PIN would also have released a next
    /// share, so that the caller can do the same amount of work.
    case notValid(PINVerdict, hasNextShare: Bool = false)
    /// The PIN is right and its effect has been written.
    case valid(Effect)

    /// The result of a right PIN.
    package enum Effect: Hashable, Sendable {
        /// `next` is the share that will replace this one once the wallet confirms it, or nil if the shares are not
        /// being replaced.
        case unlockShare(Sealed, next: Sealed?)
        case pinKeyReplaced
        case recoveryCodeLinked
        /// The sealed code, or nil if the wallet was registered while the feature was off.
        case deletionCode(Sealed?)
        /// The wallet is linked to a different recovery code.
        ///
        /// Answered with `not-allowed`.
        case linkedToAnother
        /// The recovery code is on the deny list.
        ///
        /// Nothing is linked, and the caller ends the wallet.
        case codeDenied
    }
}

package enum CodeRevocationOutcome: Hashable, Sendable {
    /// The wallet is revoked, by this call or an earlier one.
    ///
    /// `at` is the time of the first revocation.
    case revoked(WalletID, at: Timestamp)
    case notRecognised
}

/// A wallet's confirmation that it has sealed its data under next shares.
package struct ShareConfirmation: Hashable, Sendable {
    package var walletID: WalletID
    /// The sealed next share as the session received it, or nil if it is not being confirmed.
    package var unlock: Sealed?
    package var presence: Sealed?
    /// The sealed identity that the session's last PIN was right for.
    package var identity: Sealed
    /// The same identity sealed again, so that a PIN change prepared with the old value no longer has any effect.
    package var resealed: Sealed

    package init(walletID: WalletID, unlock: Sealed?, presence: Sealed?, identity: Sealed, resealed: Sealed) {
        self.walletID = walletID
        self.unlock = unlock
        self.presence = presence
        self.identity = identity
        self.resealed = resealed
    }
}

package enum ShareConfirmationOutcome: Hashable, Sendable {
    /// The confirmed shares are now current, and the ones they replaced are destroyed.
    case replaced
    /// The confirmed shares were not offered, or the identity is not current.
    ///
    /// Nothing was written.
    case notOffered
    case revoked(Revocation)
}
