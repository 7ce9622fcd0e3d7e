internal import PINPolicy
internal import Vocabulary
internal import WalletStore

/// A step of the store, or the end of a wait for the standby, as in `docs/model/counting.pml` but without attempt ids.
struct RowTransition: Hashable {
    let description: String

    /// Creates the transition of a step that a client's call causes.
    ///
    /// Returns nil for a step that the model lacks: a change of the PIN, a read, or the revocation itself.
    ///
    /// - Parameters:
    ///   - right: The key of the right PIN, for a session without keys, which has none to compare.
    ///   - commits: Whether the answer waits until a standby has the commit.
    /// - Throws: ``Violation`` for a reply that steps of this kind do not have.
    init?(
        _ operation: Operation,
        _ reply: Reply,
        _ before: Facts,
        _ after: Facts,
        right: P256PublicKey,
        commits: Bool
    ) throws(Violation) {
        let event: String
        switch operation {
        case .beginSession: event = "session"
        case .judge(let attempt):
            guard case .releaseShare = attempt.effect else { return nil }
            let isRepetition = before.record.lastWrongAttempt == attempt.attemptID
            let isRight = attempt.candidate == attempt.pinKey ?? right
            event = "\(isRepetition ? "repeated" : "new") \(isRight ? "right" : "wrong")"
        case .identity, .report, .revoke, .revokeWallets: return nil
        }
        let answer: String
        switch reply {
        case .session(.revoked), .judged(.revoked): answer = "revoked"
        case .session(.active): answer = "told"
        case .judged(.valid): answer = "share"
        case .judged(.notValid): answer = "told"
        // The session or the client has the PIN key from before a change.
        case .judged(.pinKeyChanged), .judged(.identityChanged), .session(.identityChanged): return nil
        case .session(.counterNotIncreased), .identity, .report, .revoked, .walletsRevoked, .failed:
            throw Violation(text: "a step of the kind \(event) has the reply \(reply.text)")
        }
        self.description =
            "\(event), failures \(before.record.failures), revoked \(before.isRevoked ? 1 : 0)"
            + " -> \(answer), failures \(after.record.failures)\(commits ? ", commits" : "")"
    }

    /// Creates the transition at the end of a wait for the standby.
    init(wait isRevocation: Bool, _ end: String, isAnswered: Bool) {
        self.description =
            "wait of \(isRevocation ? "the revocation" : "a call"), \(end) -> "
            + (isAnswered ? "answered" : "not answered")
    }
}

extension Transitions {
    /// Records the server's answer after a wait for the standby, for the comparison with the model.
    func noteWait(_ end: String, _ state: State) throws {
        guard state.waiting >= 0, case let number = Int(state.waiting), number <= Self.revoking else { return }
        let reply = Input(event: .reply(self.runs.reply(state[number].reply)), time: state.time)
        let next = try self.runs.node(after: state[number].node, reply, place: self.place(of: number))
        let finding = self.runs[next].finding
        // A call that goes on with another step ends with that one: a session that began for a wallet whose revocation
        // was read before, and lost by a failover since, begins again with the wallet's keys.
        guard finding.operation == nil else { return }
        var isAnswered = true
        switch finding.answer {
        case nil, .refused: isAnswered = false
        case .session, .right, .changed, .wrong, .blocked, .revoked, .revocationConfirmed: break
        }
        self.rows.note(RowTransition(wait: number == Self.revoking, end, isAnswered: isAnswered))
    }
}
