internal import Logging
internal import Vocabulary
internal import Wire

// The limits per source apply before any part of a call is examined: no PIN is judged, no attempt
// is counted, and the answer reveals nothing about a wallet.
extension Conversation {
    /// Charges a call to its source.
    ///
    /// Deletion codes have a separate allowance and need no other. An attacker that exhausts the
    /// other allowances of a mobile operator's address therefore cannot keep the users behind it
    /// from ending a lost phone's wallet (G8).
    mutating func requireAllowance(for call: Call) throws {
        if case .revokeWithCode = call { return }
        if let limited = self.takeCall() {
            // A rate-limited instruction also consumes the expected counter, because the client's
            // next one would otherwise be out of order.
            if case .instruct(let instruct) = call {
                _ = try self.machine.receiveInstruct(counter: instruct.counter, at: self.calledAt)
            }
            throw limited
        }
        switch call {
        case .beginEnrollment, .register:
            if let wait = self.account.enrollments.take(self.server.limits.rules.enrollments, at: self.calledAt) {
                throw CallFailure.rateLimited(.enrollments, retryAfter: max(wait, SourceLimits.leastWait))
            }
        case .hello, .openSession, .instruct, .revokeWithCode, .reportWipe, .confirmShares, .unknown: break
        }
    }

    /// Takes one call from the source's allowance; returns the failure if none is left.
    ///
    /// Sessions have a separate allowance: behind a mobile operator's single address, clients
    /// without a wallet take nothing from clients that have proved theirs.
    func takeCall() -> CallFailure? {
        let allowance = self.server.limits.rules.calls
        let isInSession = self.machine.isInSession
        let wait =
            isInSession
            ? self.account.sessionCalls.take(allowance, at: self.calledAt)
            : self.account.calls.take(allowance, at: self.calledAt)
        return wait.map {
            .rateLimited(isInSession ? .sessionCalls : .calls, retryAfter: max($0, SourceLimits.leastWait))
        }
    }

    /// Stops reading from a connection for a while after a rate-limited call; the refusal asked the
    /// client to wait.
    ///
    /// Without the pause, a flood of calls over a few connections would cost the server a decoded
    /// frame and an answer each.
    func pauseReading(after result: CallResult) async {
        guard case .refused(let refusal) = result, case .rateLimited(let wait) = refusal.reason else { return }
        let pause = min(wait, self.server.limits.rules.pause)
        // Cancelled when the server stops; the connection then ends with the next read.
        if pause > .zero { try? await Task.sleep(for: pause) }
    }
}
