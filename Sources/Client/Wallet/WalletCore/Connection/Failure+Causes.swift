internal import DeviceInterface
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// How everything that can go wrong becomes one of the errors that a person is shown (flows.md, Errors).
extension Failure {
    /// A refusal of the server; nothing was judged.
    init(_ refusal: Refusal) {
        switch refusal.reason {
        case .attestationRejected: self = .deviceInsecure
        case .revoked(let revocation): self = .revoked(revocation)
        case .unavailable, .rateLimited: self = .serverUnreachable(notCounted: true)
        case .malformed, .unsupported, .sessionRequired, .authenticationFailed, .outOfOrder, .challengeInvalid,
            .notAllowed, .pinKeyChanged, .internal:
            self = .generic(correlationID: refusal.correlationID.isEmpty ? Self.ownID() : refusal.correlationID)
        }
    }

    init(_ error: DialError) {
        switch error {
        case .noInternet: self = .noInternet
        case .unreachable: self = .serverUnreachable(notCounted: true)
        }
    }

    /// `notCounted` where what was sent cannot have been a PIN.
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

    /// Something of the wallet's own failed: its storage, its device, or a reply that cannot be true.
    static var local: Failure { .generic(correlationID: Self.ownID()) }

    /// Where the server gave no correlation id: it at least tells two reports apart.
    private static func ownID() -> String { "wallet-" + AttemptID.random().description.prefix(8) }
}
