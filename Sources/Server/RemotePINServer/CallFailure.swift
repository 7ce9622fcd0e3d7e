internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// The reason a call failed, from the server's point of view.
///
/// Calls pass on the errors of lower layers unchanged. ``Conversation`` and the portal convert them once, with
/// ``init(_:)``. How much of a failure is disclosed to the peer is decided only in `CallFailure+Refusal.swift`.
enum CallFailure: Error {
    /// The frame is not a call.
    ///
    /// The transport decides whether the connection ends.
    case violation(Violation)
    /// A signed body is malformed.
    case malformed(WireError)
    /// Parts of the call are missing or contradict each other.
    case inconsistent(Inconsistency)
    case unsupported
    /// The call is not allowed in the connection's current state.
    case order(OrderViolation)
    /// A proof or signature is invalid.
    ///
    /// The connection ends.
    case authentication(AuthenticationFault)
    case challengeInvalid(TokenFault)
    /// The name of the failed check.
    case attestation(String)
    case notAllowed(StateFault)
    case revoked(Revocation)
    case pinKeyChanged(current: PINKeyID)
    /// The source has used up its allowance, so the call was not examined at all.
    case rateLimited(SourceLimit, retryAfter: Duration)
    case store(StoreError)
    /// This server has no lease at present, so nothing was judged.
    case noLease
    case vault(VaultError)
    /// The wallet's identity changed during every attempt to use it.
    ///
    /// Nothing was judged.
    case contended
    /// The verdict is durable, but its answer could not be prepared.
    ///
    /// The connection is closed without an answer, because `unavailable` would imply that nothing was judged. The
    /// client then repeats the call, as it does whenever an answer is lost.
    indirect case unanswered(CallFailure)
    /// An unexpected error, identified by the name of its type.
    case unexpected(String)

    /// Converts an error thrown by a call.
    init(_ error: any Error) {
        switch error {
        case let error as CallFailure: self = error
        case let error as OrderViolation: self = .order(error)
        case let error as WireError: self = .malformed(error)
        case let error as StoreError: self = .store(error)
        case let error as VaultError: self = .vault(error)
        default: self = .unexpected("\(type(of: error))")
        }
    }

    /// Converts an error thrown by a call after its verdict became durable.
    static func afterVerdict(_ error: any Error) -> CallFailure {
        let failure = CallFailure(error)
        return if case .unavailable = failure.refusal { .unanswered(failure) } else { failure }
    }

    enum Inconsistency: String {
        case newSignatureMissing = "the new PIN's signature is missing"
        case newSignatureUnasked = "a new PIN's signature without a change of the PIN"
        case newKeyIDCurrent = "the new PIN key's id is the current one"
    }

    enum AuthenticationFault: String {
        case unknownWallet = "unknown wallet"
        case deviceProof = "device proof"
        case assertionCounter = "assertion counter"
        case pinSignature = "PIN signature"
        case newPINSignature = "new PIN's signature"
    }

    enum TokenFault: String {
        case notOurs = "forged token"
        case expired = "expired token"
        case used = "used token"
    }

    enum StateFault: String {
        case noDeletionCode = "the wallet has no deletion code"
        case linkedToAnother = "linked to another recovery code"
        case sharesNotOffered = "other next shares, or none"
    }
}
