public import Secrets
public import Vocabulary

/// The answer to the ``Request`` of the same id; id 0 with an error answers a frame that was not a request.
public struct Response: Sendable {
    public var id: UInt64
    public var result: CallResult

    public init(id: UInt64, result: CallResult) {
        self.id = id
        self.result = result
    }
}

/// What a call gave.
public enum CallResult: Sendable {
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
public struct ServerTerms: Hashable, Sendable {
    public var serverTime: Timestamp
    public var update: UpdateVerdict
    /// Digits of a PIN, `6...12`; a wallet accepts no fewer than its own six.
    public var pinLength: Int
    public var policy: AttemptPolicy
    public var features: Features
    public var solutionRevoked: Bool
    public var limits: Limits

    public struct Limits: Hashable, Sendable {
        /// Calls in flight on one connection, at least 1.
        public var maxInFlight: Int
        public var sessionLifetime: Duration
        public var tokenLifetime: Duration

        public init(maxInFlight: Int, sessionLifetime: Duration, tokenLifetime: Duration) {
            self.maxInFlight = maxInFlight
            self.sessionLifetime = sessionLifetime
            self.tokenLifetime = tokenLifetime
        }
    }

    public init(
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

public struct Enrollment: Hashable, Sendable {
    /// Bytes of a token.
    public static let allowedTokenByteCounts = 1...256

    /// Of an allowed length, opaque to the client; the attestation's challenge is its SHA-256.
    public var token: [UInt8]
    public var walletID: WalletID
    public var expiresAt: Timestamp

    public init(token: [UInt8], walletID: WalletID, expiresAt: Timestamp) {
        self.token = token
        self.walletID = walletID
        self.expiresAt = expiresAt
    }
}

public struct Registration: Sendable {
    public var unlockShare: Share
    /// Nil where the feature is off.
    public var deletionCode: DeletionCode?

    public init(unlockShare: Share, deletionCode: DeletionCode?) {
        self.unlockShare = unlockShare
        self.deletionCode = deletionCode
    }
}

public enum SessionOpening: Sendable {
    case active(ActiveWallet)
    case revoked(Revocation)
}

public struct ActiveWallet: Sendable {
    /// The PIN key that counts now.
    public var pinKeyID: PINKeyID
    public var pinState: PINState
    public var features: Features
    /// Nil while the wallet is permanently blocked.
    public var presenceShare: Share?

    public init(pinKeyID: PINKeyID, pinState: PINState, features: Features, presenceShare: Share?) {
        self.pinKeyID = pinKeyID
        self.pinState = pinState
        self.features = features
        self.presenceShare = presenceShare
    }
}

/// An instruction's own result, which a right PIN alone gives, or what became of a PIN that was not right.
public enum InstructResult: Sendable {
    case pinValid(unlockShare: Share)
    case pinChanged
    case recoveryCodeLinked
    case deletionCode(DeletionCode)
    /// Judged and counted; the state that follows.
    case wrong(PINState)
    case blocked(remaining: Duration)
    case blockedPermanently
}

public enum CodeRevocation: Hashable, Sendable {
    /// Done, now or before; when it was first revoked.
    case revoked(at: Timestamp)
    case notRecognised
}
