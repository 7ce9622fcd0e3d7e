internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// The reason that a call was not carried out, as the server knows it.
///
/// Calls throw the errors of the layers below as they are. ``Conversation`` and the portal translate them once, with
/// ``init(_:)``. `CallFailure+Refusal.swift` alone decides how much a peer learns of a failure.
enum CallFailure: Error {
    /// The frame is not a call; the transport decides whether the connection ends.
    case violation(Violation)
    /// A signed body is malformed.
    case malformed(WireError)
    /// Parts of the call contradict each other or are missing.
    case inconsistent(Inconsistency)
    case unsupported
    /// The call is not allowed in the connection's state.
    case order(OrderViolation)
    /// A proof or signature is invalid; the connection ends.
    case authentication(AuthenticationFault)
    case challengeInvalid(TokenFault)
    /// The name of the failed check.
    case attestation(String)
    case notAllowed(StateFault)
    case revoked(Revocation)
    case pinKeyChanged(current: PINKeyID)
    /// The source has used up its allowance; no part of the call was examined.
    case rateLimited(SourceLimit, retryAfter: Duration)
    case store(StoreError)
    case vault(VaultError)
    /// The wallet's identity changed at each attempt to use it; nothing was judged.
    case contended
    /// The verdict is durable and its answer could not be prepared.
    ///
    /// The connection ends without an answer: `unavailable` would state that nothing was judged. The client
    /// repeats the call, as after any lost answer.
    indirect case unanswered(CallFailure)
    /// An error that no layer below is known to throw, by the name of its type.
    case unexpected(String)

    /// Translates an error that a call threw.
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

    /// Translates an error that a call threw after its verdict was durable.
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
