package import Vocabulary

/// What a vault sealed; opaque to the store.
package typealias Sealed = [UInt8]

/// A registration whose token, signatures and attestation were found good.
package struct NewRegistration: Sendable {
    package var walletID: WalletID
    /// SHA-256 of the hardware key: who repeats a registration must hold the same one.
    package var hardwareKeyDigest: SHA256Digest
    /// Platform, hardware key, app id, PIN key and its id, sealed as one value.
    package var identity: Sealed
    package var pinKeyID: PINKeyID
    package var unlockShare: Sealed
    package var presenceShare: Sealed
    /// The sealed code and its SHA-256; nil where the feature is off.
    package var deletionCode: (sealed: Sealed, digest: SHA256Digest)?
    /// The counter of the App Attest assertion that proved the key; nil on Android.
    package var assertionCounter: UInt32?
    /// What was attested, for operators: a JSON object.
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
    case registered
    /// A session was opened, the wallet was revoked, or another hardware key holds this token: `challenge-invalid`.
    case tokenUsed
    /// The assertion's counter was seen before: `authentication-failed`.
    case counterNotIncreased
    case solutionRevoked
}

/// A wallet's sealed identity and whether its token can still be registered.
package struct StoredIdentity: Hashable, Sendable {
    package var identity: Sealed
    /// False from the first session on, and once revoked.
    package var mayRegisterAgain: Bool

    package init(identity: Sealed, mayRegisterAgain: Bool) {
        self.identity = identity
        self.mayRegisterAgain = mayRegisterAgain
    }
}

/// A session whose device proof was found good.
package struct NewSession: Sendable {
    package var walletID: WalletID
    /// The identity against which the proof was checked; a wallet registered again meanwhile has another.
    package var identity: Sealed
    /// The counter of the proof; nil on Android.
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
    /// The share is nil for a wallet that is blocked for good.
    case active(pinKeyID: PINKeyID, pinState: PINState, presenceShare: Sealed?)
    case revoked(Revocation)
    /// The assertion's counter was seen before: `authentication-failed`.
    case counterNotIncreased
    /// The wallet has another identity now (its PIN was changed, or it was registered again), or is gone: look again.
    case identityChanged
}

/// One entry of a PIN with the instruction that it is to allow.
///
/// Its signatures were found good.
package struct Attempt: Sendable {
    package var walletID: WalletID
    package var attemptID: AttemptID
    /// The PIN key that the wallet believes current.
    package var namedKeyID: PINKeyID
    /// The identity that the session has opened, as it was sealed.
    ///
    /// Compared byte for byte with the one on file, since an id of a PIN key is the client's to choose and may come
    /// twice: no two sealed values are the same.
    package var identity: Sealed
    /// The PIN key in that identity: what the candidate is compared with, once the attempt is counted.
    package var pinKey: P256PublicKey
    /// What the entered PIN gave.
    package var candidate: P256PublicKey
    package var effect: Effect
    package var policy: AttemptPolicy
    package var now: Timestamp

    /// What a right PIN writes or reads; sealed before the step.
    package enum Effect: Hashable, Sendable {
        /// Reads the unlock share.
        case releaseShare
        case replacePINKey(identity: Sealed, newKeyID: PINKeyID)
        /// The vault's MAC of the recovery code. The first link stays.
        case linkRecoveryCode(mac: [UInt8])
        case readDeletionCode
    }

    package init(
        walletID: WalletID,
        attemptID: AttemptID,
        namedKeyID: PINKeyID,
        identity: Sealed,
        pinKey: P256PublicKey,
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

/// What the step found, in the order in which it looks.
package enum AttemptOutcome: Hashable, Sendable {
    /// Nothing judged.
    case revoked(Revocation)
    /// The client names a PIN key that is not the current one; nothing judged.
    case pinKeyChanged(current: PINKeyID)
    /// The client names the current key, but the session's opened identity is older; nothing judged. Open this one and
    /// ask again.
    case identityChanged(Sealed)
    /// Not the right PIN, or not judged; never ``PINVerdict/valid``.
    case notValid(PINVerdict)
    /// The right PIN; the effect is written.
    case valid(Effect)

    /// What a right PIN read.
    package enum Effect: Hashable, Sendable {
        case unlockShare(Sealed)
        case pinKeyReplaced
        case recoveryCodeLinked
        /// Nil where the wallet was registered while the feature was off.
        case deletionCode(Sealed?)
        /// The wallet is linked to another recovery code already: `not-allowed`.
        case linkedToAnother
        /// The recovery code is on the deny list: nothing is linked, and whoever asked ends the wallet.
        case codeDenied
    }
}

package enum CodeRevocationOutcome: Hashable, Sendable {
    /// Now or before; `at` is when it was first revoked.
    case revoked(WalletID, at: Timestamp)
    case notRecognised
}
