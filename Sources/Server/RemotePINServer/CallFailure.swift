internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// Why a call was not done, as the server knows it; what the peer learns is made of it in `Refusal+CallFailure.swift`
/// alone.
enum CallFailure: Error {
    /// What came is no call; whether the connection ends is the transport's word.
    case violation(Violation)
    /// A signed body is not what it should be.
    case malformed(WireError)
    /// Parts that do not belong together, or are missing.
    case inconsistent(Inconsistency)
    case unsupported
    /// The call is not for the connection's state.
    case order(OrderViolation)
    /// A proof or signature is not good; the connection ends.
    case authentication(AuthenticationFault)
    case challengeInvalid(TokenFault)
    /// The name of the failed check.
    case attestation(String)
    case notAllowed(StateFault)
    case revoked(Revocation)
    case pinKeyChanged(current: PINKeyID)
    /// The source has had what it may; nothing of the call was looked at.
    case rateLimited(SourceLimit, retryAfter: Duration)
    case store(StoreError)
    case vault(VaultError)
    /// The wallet changed each time that it was looked at; nothing was judged.
    case contended

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
    }
}
