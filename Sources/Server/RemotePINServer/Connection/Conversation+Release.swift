internal import Logging
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Returns whether an answer may be sent at this moment.
    ///
    /// Invariant (G7): with several servers on one store, an answer with data of a wallet leaves only while this server
    /// has its lease. Other servers wait for its acknowledgement of a revocation only until the lease has ended. This
    /// is the last step before the bytes are handed to TLS: the store, the vault or a suspended machine may have taken
    /// any time before it. Without a lease, the connection ends without an answer, as after a crash, and the client
    /// repeats its call.
    func mayBeSent(_ result: CallResult) -> Bool {
        guard result.releasesData, let lease = self.server.lease, !lease.isHeld else { return true }
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
    /// Whether the answer contains a share or a deletion code.
    var releasesData: Bool {
        switch self {
        case .register: true
        case .openSession(.active(let wallet)): wallet.presenceShare != nil || wallet.nextPresenceShare != nil
        case .instruct(let result), .judged(let result, _):
            switch result {
            case .pinValid, .deletionCode: true
            case .wrong, .blocked, .blockedPermanently, .pinChanged, .recoveryCodeLinked: false
            }
        case .openSession(.revoked), .hello, .beginEnrollment, .revokeWithCode, .reportWipe, .confirmShares, .refused:
            false
        }
    }
}
