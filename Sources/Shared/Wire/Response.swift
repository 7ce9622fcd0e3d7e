package import Secrets
package import Vocabulary

/// The answer to the ``Request`` with the same id.
///
/// An error with id 0 is the answer to a frame that was not a request.
package struct Response: Sendable {
    package var id: UInt64
    package var result: CallResult

    package init(id: UInt64, result: CallResult) {
        self.id = id
        self.result = result
    }
}

/// The result of a call.
package enum CallResult: Sendable {
    case hello(ServerTerms)
    case beginEnrollment(Enrollment)
    case register(Registration)
    case openSession(SessionOpening)
    /// An answer without a receipt.
    case instruct(InstructResult)
    /// A verdict with its receipt, which has not been verified yet.
    case judged(InstructResult, Receipt)
    case revokeWithCode(CodeRevocation)
    case reportWipe
    case confirmShares
    case refused(Refusal)
}

extension CallResult {
    /// The result without its receipt, for callers that do not check receipts.
    package var withoutReceipt: CallResult {
        if case .judged(let result, _) = self { .instruct(result) } else { self }
    }
}

/// The answer to Hello, with the terms on which the server serves this version of the app.
package struct ServerTerms: Hashable, Sendable {
    package var serverTime: Timestamp
    package var update: UpdateVerdict
    /// The number of digits in a PIN, `6...12`.
    ///
    /// Wallets reject anything below six.
    package var pinLength: Int
    package var policy: AttemptPolicy
    package var features: Features
    package var solutionRevoked: Bool
    package var limits: Limits

    package struct Limits: Hashable, Sendable {
        /// The maximum number of calls in flight on a connection, at least 1.
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
    /// The permitted lengths of a token, in bytes.
    package static let allowedTokenByteCounts = 1...256

    /// The token, which is opaque to the client.
    ///
    /// Its SHA-256 digest is the challenge for the attestation.
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
    /// The deletion code, or nil if the feature is off.
    package var deletionCode: DeletionCode?
    /// The receipt keys, in ascending order.
    ///
    /// The last one is used for signing.
    package var receiptKeys: [ReceiptKeyLink]

    package init(unlockShare: Share, deletionCode: DeletionCode?, receiptKeys: [ReceiptKeyLink] = []) {
        self.unlockShare = unlockShare
        self.deletionCode = deletionCode
        self.receiptKeys = receiptKeys
    }
}

package enum SessionOpening: Sendable {
    case active(ActiveWallet)
    case revoked(Revocation)
}

package struct ActiveWallet: Sendable {
    /// The id of the current PIN key.
    package var pinKeyID: PINKeyID
    package var pinState: PINState
    package var attempts: AttemptCounts
    package var features: Features
    /// The presence share, or nil if the wallet is permanently blocked.
    package var presenceShare: Share?
    /// The share that will replace the presence share once the wallet confirms it, or nil if the shares are not being
    /// replaced.
    package var nextPresenceShare: Share?
    /// The receipt keys, in ascending order.
    ///
    /// The last one is used for signing.
    package var receiptKeys: [ReceiptKeyLink]

    package init(
        pinKeyID: PINKeyID,
        pinState: PINState,
        attempts: AttemptCounts,
        features: Features,
        presenceShare: Share?,
        nextPresenceShare: Share? = nil,
        receiptKeys: [ReceiptKeyLink] = []
    ) {
        self.pinKeyID = pinKeyID
        self.pinState = pinState
        self.attempts = attempts
        self.features = features
        self.presenceShare = presenceShare
        self.nextPresenceShare = nextPresenceShare
        self.receiptKeys = receiptKeys
    }
}

/// The result of an instruction, which requires the right PIN, or the verdict on a wrong PIN.
package enum InstructResult: Sendable {
    /// The PIN was right.
    ///
    /// `next` is the share that will replace this one once the wallet confirms it, or nil if the shares are not being
    /// replaced.
    case pinValid(unlockShare: Share, next: Share? = nil)
    case pinChanged
    case recoveryCodeLinked
    case deletionCode(DeletionCode)
    /// The PIN was wrong and the attempt was counted.
    ///
    /// The state is the one after this attempt.
    case wrong(PINState)
    case blocked(remaining: Duration)
    case blockedPermanently
}

package enum CodeRevocation: Hashable, Sendable {
    /// The wallet was revoked by this call or an earlier one.
    ///
    /// The time is that of the first revocation.
    case revoked(at: Timestamp)
    case notRecognised
}
