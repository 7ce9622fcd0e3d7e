internal import Logging
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// The reason a call failed, from the server's point of view.
///
/// Calls pass on the errors of lower layers unchanged. ``Conversation`` and the portal convert them once, with
/// ``init(_:)``. How much of a failure is disclosed to the peer is decided only in `CallFailure.swift`.
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
        if case .vault(.noKey) = failure { return .unanswered(failure) }  // rule: server-key-missing-answered
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

// This is the only place that maps failures to the answers sent to peers.
extension CallFailure {
    /// The time to wait before repeating a call that could not be answered.
    private static let retryAfter: Duration = .seconds(2)

    /// The reason sent to the peer.
    ///
    /// An unknown wallet and an invalid proof result in the same answer. A store or vault failure never looks like a
    /// verdict.
    var refusal: Refusal.Reason {
        switch self {
        case .malformed(.unknownInstruction), .unsupported: .unsupported
        case .violation, .malformed, .inconsistent: .malformed
        case .order(.notAllowed), .notAllowed: .notAllowed
        case .order(.sessionRequired): .sessionRequired
        case .order(.outOfOrder): .outOfOrder
        case .authentication: .authenticationFailed
        case .challengeInvalid: .challengeInvalid
        case .attestation(let reason): .attestationRejected(reason)
        case .revoked(let revocation): .revoked(revocation)
        case .pinKeyChanged(let current): .pinKeyChanged(current: current)
        case .rateLimited(_, let retryAfter): .rateLimited(retryAfter: retryAfter)
        case .store(.unavailable), .store(.notErased), .vault(.unreachable), .contended, .noLease:
            .unavailable(retryAfter: Self.retryAfter)
        case .store(.corrupt), .store(.notCertified), .store(.outcomeUnknown), .vault(.notOurs), .unexpected: .internal
        case .vault(.noKey), .vault(.wiped): .internal
        // Never sent.
        case .unanswered(let failure): failure.refusal
        }
    }

    /// Whether the peer receives an answer.
    ///
    /// If the receipt could not be made, no answer is sent, just as after a crash: the attempt has been counted, but
    /// the peer does not learn whether the PIN was correct. Likewise, no answer is sent if the outcome of a commit is
    /// unknown, because `unavailable` would imply that nothing was judged.
    var isAnswered: Bool {
        switch self {
        // rule: receipt-unsigned-answered
        case .store(.notCertified), .store(.outcomeUnknown), .unanswered: false
        case .vault(.wiped): false
        default: true
        }
    }

    /// Whether the connection is closed after the answer.
    ///
    /// This is done after an invalid proof, so that every further attempt costs a handshake.
    var endsConnection: Bool {
        switch self {
        case .authentication, .store(.notCertified), .store(.outcomeUnknown), .unanswered, .vault(.wiped): true
        case .violation(let violation): violation.endsConnection
        case .malformed, .inconsistent, .unsupported, .order, .challengeInvalid, .attestation, .notAllowed, .revoked,
            .pinKeyChanged, .rateLimited, .store, .noLease, .vault, .contended, .unexpected:
            false
        }
    }

    /// The text for the log.
    ///
    /// It never contains anything sent by the peer.
    var logged: String {
        switch self {
        case .violation(.message(let error)): "malformed: \(error)"
        case .violation(.frame(let violation)): "malformed: \(violation)"
        case .malformed(let error): "malformed: \(error)"
        case .inconsistent(let what): "malformed: \(what.rawValue)"
        case .unsupported: "unsupported call"
        case .order(.notAllowed(let cause)): "not allowed: \(cause.rawValue)"
        case .order(.sessionRequired): "no session"
        case .order(.outOfOrder(let expected)): "out of order: \(expected) was expected"
        case .authentication(let fault): "authentication failed: \(fault.rawValue)"
        case .challengeInvalid(let fault): "challenge invalid: \(fault.rawValue)"
        case .attestation(let reason): "attestation rejected: \(reason)"
        case .notAllowed(let fault): "not allowed: \(fault.rawValue)"
        case .revoked(let revocation): "revoked: \(revocation.reason.rawValue)"
        case .pinKeyChanged: "another PIN key is current"
        case .rateLimited(let limit, _): "rate limited: \(limit.rawValue)"
        case .store(.unavailable): "the store is unavailable"
        case .store(.notErased): "done, but the store's log still holds the destroyed data; is its disk full?"
        case .store(.notCertified): "the receipts of a commit could not be signed; connections close without a verdict"
        case .store(.outcomeUnknown): "the outcome of a commit is unknown; connections close without a verdict"
        case .store(.corrupt): "the store holds data that it did not write"
        case .vault(.unreachable): "the vault is unreachable"
        case .vault(.notOurs): "a sealed value was altered or belongs to another wallet"
        case .vault(.noKey): "a sealed value names a key that this session does not have"
        case .vault(.wiped): "the wallet was revoked or blocked during the call"
        case .noLease: "this server has no lease at present"
        case .contended: "the wallet's identity changed repeatedly"
        case .unanswered(let failure): "no answer after the verdict: \(failure.logged)"
        case .unexpected(let type): "unexpected error \(type)"
        }
    }

    /// The log level.
    ///
    /// It is `error` only if an operator needs to act, because everything else is caused by the peer.
    var logLevel: Logger.Level {
        switch self {
        case .store(.corrupt), .store(.notErased), .store(.notCertified), .store(.outcomeUnknown), .vault(.notOurs),
            .vault(.noKey), .unexpected:
            .error
        case .store(.unavailable), .vault(.unreachable), .contended, .noLease: .warning
        case .authentication, .attestation, .challengeInvalid, .revoked: .notice
        case .violation, .malformed, .inconsistent, .unsupported, .order, .notAllowed, .pinKeyChanged, .vault(.wiped):
            .info
        case .unanswered(let failure): failure.logLevel
        // Clients control how often this happens, so it is only counted and summarized in the log.
        case .rateLimited: .debug
        }
    }
}
