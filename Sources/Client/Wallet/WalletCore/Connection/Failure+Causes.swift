internal import DeviceInterface
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// The translation of every error in this target to a failure that the flows show (flows.md,
/// Errors).
extension Failure {
    /// Translates any error thrown by a ``WalletEngine``.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as DialError: self.init(error)
        case let error as DeviceError: self.init(error)
        case let error as CallChannelError: self.init(error, notCounted: true)
        // Storage, keychain and seals.
        case _: self = .local
        }
    }

    /// Translates a refusal of the server, which has judged no PIN.
    init(_ refusal: Refusal) {
        switch refusal.reason {
        case .attestationRejected: self = .deviceInsecure
        case .revoked(let revocation): self = .revoked(revocation)
        case .unavailable, .rateLimited: self = .serverUnreachable(notCounted: true)
        case .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .notAllowed, .pinKeyChanged, .internal:
            self = .generic(correlationID: refusal.correlationID.isEmpty ? Self.localID() : refusal.correlationID)
        }
    }

    init(_ error: DialError) {
        switch error {
        case .noInternet: self = .noInternet
        case .unreachable: self = .serverUnreachable(notCounted: true)
        }
    }

    /// - Parameter notCounted: True if the message that was sent cannot have contained a PIN attempt.
    init(_ error: CallChannelError, notCounted: Bool) {
        switch error {
        case .lost: self = .serverUnreachable(notCounted: notCounted)
        case .malformed: self = .local
        }
    }

    init(_ error: DeviceError) {
        switch error {
        case .attestationUnavailable: self = .serverUnreachable(notCounted: true)
        case .noKey, .storage: self = .local
        }
    }

    /// A failure inside the wallet: its storage, its device, or a reply that cannot be true.
    static var local: Failure { .generic(correlationID: Self.localID()) }

    /// A correlation id for failures without one from the server; it distinguishes two reports of a
    /// user.
    private static func localID() -> String { "wallet-" + AttemptID.random().description.prefix(8) }
}
