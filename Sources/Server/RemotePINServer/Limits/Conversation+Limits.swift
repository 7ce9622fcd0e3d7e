internal import Vocabulary
internal import Wire

// Per-source limits are applied before any part of a call is examined. If a call is rejected, no PIN is judged, no
// attempt is counted, and the answer reveals nothing about a wallet.
extension Conversation {
    /// Charges a call to its source.
    ///
    /// Deletion codes have their own allowance and need no other. An attacker who uses up the other allowances of a
    /// mobile operator's address therefore cannot prevent the users behind that address from ending the wallet on a
    /// lost phone (G8).
    mutating func requireAllowance(for call: Call) throws {
        if case .revokeWithCode = call { return }
        if let limited = self.takeCall() {
            // A rate-limited instruction also uses up the expected counter. Otherwise, the client's next instruction
            // would be out of order. An instruction that is not allowed now gets the same refusal as every other call:
            // a refusal for its order would be followed by no pause.
            if case .instruct(let instruct) = call {
                _ = try? self.machine.receiveInstruct(counter: instruct.counter, at: self.calledAt)
            }
            throw limited
        }
        switch call {
        case .beginEnrollment, .register:
            let limited = self.server.limits.take(.enrollments, of: self.account, at: self.calledAt)
            if let limited { throw limited }
        case .hello, .openSession, .instruct, .revokeWithCode, .reportWipe, .confirmShares, .unknown: break
        }
    }

    /// Takes one call from the source's allowance.
    ///
    /// Returns the failure if none is left. Sessions have a separate allowance, so that clients without a wallet cannot
    /// use up the allowance of clients that have proved theirs, even if all of them share a mobile operator's address.
    func takeCall() -> CallFailure? {
        let isInSession = self.machine.isInSession
        return self.server.limits.take(isInSession ? .sessionCalls : .calls, of: self.account, at: self.calledAt)
    }

    /// Stops reading from a connection for a while after a rate-limited call.
    ///
    /// The refusal has asked the client to wait. Without the pause, each call in a flood over a few connections would
    /// cost the server the decoding of a frame and an answer.
    func pauseReading(after result: CallResult) async {
        guard case .refused(let refusal) = result, case .rateLimited(let wait) = refusal.reason else { return }
        let pause = min(wait, self.server.limits.rules.pause)
        // The sleep is cancelled when the server stops. The connection then ends with the next read.
        if pause > .zero { try? await self.server.time.sleep(for: pause) }
    }
}
