internal import WalletFlows
internal import Secrets
internal import Transport
internal import Vocabulary
internal import Wire

/// Converts all errors in this target to failures that the flows can show (docs/wallet-errors.md).
extension Failure {
    /// Converts any error thrown by a ``WalletEngine``.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as DialError: self.init(error)
        case let error as DeviceError: self.init(error)
        case let error as CallError: self.init(error, notCounted: true)
        case is SealBroken: self = .local(.shareOpensNothing)
        case is KeychainError: self = .local(.keychain)
        case _: self = .local(.storage)
        }
    }

    /// Converts a refusal by the server, which means that no PIN was judged.
    init(_ refusal: Refusal) {
        switch refusal.reason {
        case .attestationRejected: self = .deviceInsecure
        case .revoked(let revocation): self = .revoked(revocation)
        case .unavailable: self = .serverUnreachable(notCounted: true, cause: .serverUnavailable)
        case .rateLimited: self = .serverUnreachable(notCounted: true, cause: .serverRateLimited)
        case .malformed: self.init(refusal, .serverMalformed)
        case .unsupported: self.init(refusal, .serverUnsupported)
        case .sessionRequired: self.init(refusal, .serverSessionRequired)
        case .authenticationFailed: self.init(refusal, .serverAuthenticationFailed)
        case .outOfOrder: self.init(refusal, .serverOutOfOrder)
        case .challengeInvalid: self.init(refusal, .serverChallengeInvalid)
        case .notAllowed: self.init(refusal, .serverNotAllowed)
        case .pinKeyChanged: self.init(refusal, .serverPINKeyChanged)
        case .internal: self.init(refusal, .serverInternal)
        }
    }

    /// Keeps the refusal's correlation id, which helps to find the reason in the server's log.
    init(_ refusal: Refusal, _ cause: FailureCause) {
        self = .local(cause)
        if !refusal.correlationID.isEmpty { self = .generic(correlationID: refusal.correlationID, cause: cause) }
    }

    init(_ error: DialError) {
        switch error {
        case .noInternet: self = .noInternet
        case .unreachable(let cause): self = .serverUnreachable(notCounted: true, cause: cause)
        }
    }

    /// - Parameter notCounted: Whether the message cannot have contained a PIN attempt.
    init(_ error: CallError, notCounted: Bool) {
        switch error {
        case .closed, .timedOut, .cancelled: self = .serverUnreachable(notCounted: notCounted)
        case .malformed: self = .local(.replyMalformed)
        }
    }

    init(_ error: DeviceError) {
        switch error {
        case .attestationUnavailable: self = .serverUnreachable(notCounted: true, cause: .attestationService)
        case .noKey: self = .local(.hardwareKeyMissing)
        case .storage: self = .local(.deviceStorage)
        }
    }

    /// Creates a failure that has no correlation id from the server.
    ///
    /// The id shown to the user contains the code of the cause, and a number to tell reports apart.
    static func local(_ cause: FailureCause) -> Failure {
        let number = AttemptID.random().description.prefix(8)
        return .generic(correlationID: "wallet-\(cause.rawValue)-\(number)", cause: cause)
    }
}
