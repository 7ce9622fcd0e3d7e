internal import PINPolicy
internal import WalletStore

/// A step of the store as `docs/model/counting.pml` has it, without attempt ids.
struct RowTransition: Hashable {
    let description: String

    /// Returns nil for a step that the model lacks: a change of the PIN, a read, or the revocation itself.
    init?(_ operation: Operation, _ reply: Reply, _ before: Facts, _ after: Facts) {
        let event: String
        switch operation {
        case .beginSession: event = "session"
        case .certify(let attempt):
            guard case .releaseShare = attempt.effect else { return nil }
            let isRepetition = before.record.lastWrongAttempt == attempt.attemptID
            let isRight = attempt.candidate == attempt.pinKey
            event = "\(isRepetition ? "repeated" : "new") \(isRight ? "right" : "wrong")"
        case .identity, .report, .revoke: return nil
        }
        let answer: String
        switch reply {
        case .session(.revoked), .judged(.revoked): answer = "revoked"
        case .session(.active): answer = "told"
        case .judged(.valid): answer = "share"
        case .judged(.notValid): answer = "told"
        default: return nil
        }
        self.description =
            "\(event), failures \(before.record.failures), revoked \(before.isRevoked ? 1 : 0)"
            + " -> \(answer), failures \(after.record.failures)"
    }
}
