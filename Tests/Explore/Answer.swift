internal import Vocabulary
internal import Wire

/// An answer as far as a client or an attacker learns from it.
enum Answer: Hashable, CustomStringConvertible {
    /// A session, with the state of the PIN.
    case session(isBlockedPermanently: Bool, hasShare: Bool)
    /// The PIN was right; with the unlock share.
    case right
    case changed
    /// A PIN was wrong, in this attempt or the one before it.
    case wrong(isBlockedPermanently: Bool)
    case blocked(isPermanent: Bool)
    case revoked
    case revocationConfirmed
    case refused(String)

    init?(_ response: Response) {
        switch response.result {
        case .hello: return nil
        case .openSession(.active(let wallet)):
            self = .session(
                isBlockedPermanently: wallet.pinState == .blockedPermanently,
                hasShare: wallet.presenceShare != nil
            )
        case .openSession(.revoked): self = .revoked
        case .instruct(let result), .judged(let result, _):
            switch result {
            case .pinValid: self = .right
            case .pinChanged: self = .changed
            case .wrong(let state): self = .wrong(isBlockedPermanently: state == .blockedPermanently)
            case .blocked: self = .blocked(isPermanent: false)
            case .blockedPermanently: self = .blocked(isPermanent: true)
            case .recoveryCodeLinked, .deletionCode: self = .refused("\(result)")
            }
        case .revokeWithCode(.revoked): self = .revocationConfirmed
        case .refused(let refusal):
            if case .revoked = refusal.reason { self = .revoked } else { self = .refused("\(refusal.reason)") }
        case .beginEnrollment, .register, .reportWipe, .confirmShares, .revokeWithCode(.notRecognised):
            self = .refused("unexpected")
        }
    }

    /// Whether the answer contains a share.
    var hasShare: Bool {
        switch self {
        case .session(_, let hasShare): hasShare
        case .right: true
        default: false
        }
    }

    /// Whether it discloses that the last judged PIN was wrong, if it was.
    var tellsLastVerdict: Bool {
        switch self {
        case .session, .wrong, .blocked: true
        default: false
        }
    }

    /// Whether it states the permanent block.
    var statesPermanentBlock: Bool {
        switch self {
        case .session(true, _), .wrong(true), .blocked(true): true
        default: false
        }
    }

    var description: String {
        switch self {
        case .session(_, let hasShare): "a session\(hasShare ? " with the presence share" : "")"
        case .right: "right, with the unlock share"
        case .changed: "the PIN is changed"
        case .wrong(let isLast): isLast ? "wrong, blocked permanently" : "wrong"
        case .blocked(let isPermanent): isPermanent ? "blocked permanently" : "blocked"
        case .revoked: "revoked"
        case .revocationConfirmed: "the wallet is revoked"
        case .refused(let reason): "refused: \(reason)"
        }
    }
}
