package import Secrets
package import Vocabulary

/// The answer to the ``Request`` of the same id; id 0 with an error answers a frame that was not a request.
package struct Response: Sendable {
    package var id: UInt64
    package var result: CallResult

    package init(id: UInt64, result: CallResult) {
        self.id = id
        self.result = result
    }
}

/// What a call gave.
package enum CallResult: Sendable {
    case hello(ServerTerms)
    case beginEnrollment(Enrollment)
    case register(Registration)
    case openSession(SessionOpening)
    case instruct(InstructResult)
    case revokeWithCode(CodeRevocation)
    case reportWipe
    case refused(Refusal)
}

/// What Hello answers: the terms on which the server serves this version of the app.
package struct ServerTerms: Hashable, Sendable {
    package var serverTime: Timestamp
    package var update: UpdateVerdict
    /// Digits of a PIN, `6...12`; a wallet accepts no fewer than its own six.
    package var pinLength: Int
    package var policy: AttemptPolicy
    package var features: Features
    package var solutionRevoked: Bool
    package var limits: Limits

    package struct Limits: Hashable, Sendable {
        /// Calls in flight on one connection, at least 1.
        package var maxInFlight: Int
        package var sessionLifetime: Duration
        package var tokenLifetime: Duration

        package init(maxInFlight: Int, sessionLifetime: Duration, tokenLifetime: Duration) {
            self.maxInFlight = maxInFlight
            self.sessionLifetime = sessionLifetime
            self.tokenLifetime = tokenLifetime
        }
    }

    package init(
        serverTime: Timestamp,
        update: UpdateVerdict,
        policy: AttemptPolicy,
        features: Features,
        solutionRevoked: Bool,
        limits: Limits,
        pinLength: Int = 6
    ) {
        self.serverTime = serverTime
        self.update = update
        self.pinLength = pinLength
        self.policy = policy
        self.features = features
        self.solutionRevoked = solutionRevoked
        self.limits = limits
    }
}

package struct Enrollment: Hashable, Sendable {
    /// Bytes of a token.
    package static let allowedTokenByteCounts = 1...256

    /// Of an allowed length, opaque to the client; the attestation's challenge is its SHA-256.
    package var token: [UInt8]
    package var walletID: WalletID
    package var expiresAt: Timestamp

    package init(token: [UInt8], walletID: WalletID, expiresAt: Timestamp) {
        self.token = token
        self.walletID = walletID
        self.expiresAt = expiresAt
    }
}

package struct Registration: Sendable {
    package var unlockShare: Share
    /// Nil where the feature is off.
    package var deletionCode: DeletionCode?

    package init(unlockShare: Share, deletionCode: DeletionCode?) {
        self.unlockShare = unlockShare
        self.deletionCode = deletionCode
    }
}

package enum SessionOpening: Sendable {
    case active(ActiveWallet)
    case revoked(Revocation)
}

package struct ActiveWallet: Sendable {
    /// The PIN key that counts now.
    package var pinKeyID: PINKeyID
    package var pinState: PINState
    package var features: Features
    /// Nil while the wallet is permanently blocked.
    package var presenceShare: Share?

    package init(pinKeyID: PINKeyID, pinState: PINState, features: Features, presenceShare: Share?) {
        self.pinKeyID = pinKeyID
        self.pinState = pinState
        self.features = features
        self.presenceShare = presenceShare
    }
}

/// An instruction's own result, which a right PIN alone gives, or what became of a PIN that was not right.
package enum InstructResult: Sendable {
    case pinValid(unlockShare: Share)
    case pinChanged
    case recoveryCodeLinked
    case deletionCode(DeletionCode)
    /// Judged and counted; the state that follows.
    case wrong(PINState)
    case blocked(remaining: Duration)
    case blockedPermanently
}

package enum CodeRevocation: Hashable, Sendable {
    /// Done, now or before; when it was first revoked.
    case revoked(at: Timestamp)
    case notRecognised
}
