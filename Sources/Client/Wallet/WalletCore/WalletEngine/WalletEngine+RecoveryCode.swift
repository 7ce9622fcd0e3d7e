internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC3.1/1.4: the user's recovery code is linked to the registration; the PIN authorizes it.
extension WalletEngine {
    /// Links the code, then records durably that the wallet has an identity.
    ///
    /// The answer itself does not prove enough to change any files. If the code was linked, the PIN is right, so
    /// checking the same PIN on the same connection does not cost an attempt, and its share proves that it was the
    /// server that answered.
    func linkRecoveryCode(_ code: RecoveryCode, paidBy entry: PINEntry) async throws -> Answer {
        let outcome = try await self.instruct(.linkRecoveryCode(code.bytes), paidBy: entry)
        switch outcome.result {
        case .recoveryCodeLinked: break
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .pinChanged, .deletionCode: throw Failure.local(.replyUnexpected)
        }
        if !outcome.connection.isServerProven {
            _ = try await self.checkPIN(entry)
            // If the check was made on a different connection, it only proves the peer there, so the user has to try
            // again.
            guard outcome.connection.isServerProven else { throw Failure.serverUnreachable(notCounted: true) }
        }
        try self.change { $0.registration?.hasPID = true }
        return .recoveryCodeLinked
    }
}
