internal import Logging
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Rejects a call that would judge or release something while this server has no lease.
    ///
    /// Invariant (G3, G7): without a lease, the time of blocks, the epoch or the durability of commits may be in doubt,
    /// and no answer could be sent. Nothing is counted, and the client is asked to try again.
    func requireLease() throws(CallFailure) {
        guard self.server.lease?.isHeld ?? true else { throw .noLease }
    }

    /// Returns whether an answer may be sent at this moment.
    ///
    /// Invariant (G7): with several servers on one store, an answer with a share or a verdict is sent only while this
    /// server has its lease. Other servers wait for its acknowledgment of a revocation only until the lease has ended.
    /// This is the last step before the bytes are handed to TLS, because the store, the vault or a suspension of the
    /// machine may have taken any amount of time before it. Without a lease, the connection ends without an answer, as
    /// after a crash, and the client repeats its call.
    func mayBeSent(_ result: CallResult) -> Bool {
        guard result.tellsOfWallet, let lease = self.server.lease, !lease.isHeld else { return true }
        self.log.log(level: .warning, "an answer was withheld: this server has no lease at present")
        return false
    }
}

extension Call {
    /// Whether an answer to the call may contain data that a revocation takes away.
    var mayRelease: Bool {
        switch self {
        case .register, .openSession, .instruct: true
        case .hello, .beginEnrollment, .confirmShares, .revokeWithCode, .reportWipe, .unknown: false
        }
    }
}

extension CallResult {
    /// Whether the answer contains a share, a deletion code, or a verdict on a PIN, such as the state of the attempts.
    var tellsOfWallet: Bool {
        switch self {
        case .register, .openSession(.active), .instruct, .judged: true
        case .openSession(.revoked), .hello, .beginEnrollment, .revokeWithCode, .reportWipe, .confirmShares, .refused:
            false
        }
    }
}
