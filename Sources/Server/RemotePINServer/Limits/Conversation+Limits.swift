internal import Logging
internal import Vocabulary
internal import Wire

// What is refused for its source's sake: before anything of it is looked at, so that no PIN is judged, nothing is counted
// and nothing is told that hangs on a wallet.
extension Conversation {
    /// Takes what a call costs its source.
    ///
    /// Deletion codes have an allowance of their own and need no other: whoever uses up a mobile operator's address with
    /// calls keeps nobody behind it from ending a lost phone's wallet (G8).
    mutating func requireAllowance(for call: Call) throws(CallFailure) {
        let limits = self.services.rules.sources
        if case .revokeWithCode = call { return }
        if let limited = self.takeCall() {
            // The expected counter is consumed whatever is answered, or the client's next instruction would be out of order.
            if case .instruct(let instruct) = call {
                let now = self.calledAt
                _ = try self.inOrder { machine throws(OrderViolation) in
                    try machine.receiveInstruct(counter: instruct.counter, at: now)
                }
            }
            throw limited
        }
        switch call {
        case .beginEnrollment, .register:
            if let wait = self.account.enrollments.take(limits.enrollments, at: self.calledAt) {
                throw .rateLimited(.enrollments, retryAfter: max(wait, SourceLimits.leastWait))
            }
        case .hello, .openSession, .instruct, .revokeWithCode, .reportWipe, .unknown: break
        }
    }

    /// Takes one call of the source's; why it must wait where it has none left.
    ///
    /// Sessions have an allowance of their own: behind an operator's one address, whoever has no wallet takes nothing from
    /// those who have proved theirs.
    func takeCall() -> CallFailure? {
        let allowance = self.services.rules.sources.calls
        let isInSession = self.machine.isInSession
        let wait =
            isInSession
            ? self.account.sessionCalls.take(allowance, at: self.calledAt)
            : self.account.calls.take(allowance, at: self.calledAt)
        return wait.map {
            .rateLimited(isInSession ? .sessionCalls : .calls, retryAfter: max($0, SourceLimits.leastWait))
        }
    }

    /// Reads nothing for a while from a connection whose call had to wait; it was told to be silent for as long.
    ///
    /// Without that a flood of calls over few connections would cost the server a decoded frame and an answer each.
    func rest(after result: CallResult) async {
        guard case .refused(let refusal) = result, case .rateLimited(let wait) = refusal.reason else { return }
        let pause = min(wait, self.services.rules.sources.pause)
        // Cancelled when the server stops; the next call is then the connection's end.
        if pause > .zero { try? await Task.sleep(for: pause) }
    }
}
