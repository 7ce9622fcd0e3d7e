internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC3.1/1.4: links the user's recovery code to the registration, authorized by the PIN.
extension WalletEngine {
    /// Links the code, then records durably that the wallet has an identity.
    ///
    /// The answer alone does not prove enough to change any files. If the code was linked, the PIN is right. Checking
    /// the same PIN on the same connection then does not cost an attempt, and its share proves that the answer came
    /// from the server.
    func linkRecoveryCode(_ code: RecoveryCode, paidBy entry: PINEntry) async throws -> Answer {
        let outcome = try await self.instruct(.linkRecoveryCode(code), paidBy: entry)
        switch outcome.result {
        case .recoveryCodeLinked: break
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .pinChanged, .deletionCode: throw Failure.local(.replyUnexpected)
        }
        if !outcome.connection.isServerProven {
            _ = try await self.checkPIN(entry)
            // If the check was made on a different connection, it only proves who the peer is there, so the user has to
            // try again.
            guard outcome.connection.isServerProven else { throw Failure.serverUnreachable(notCounted: true) }
        }
        try self.change { $0.registration?.hasPID = true }
        return .recoveryCodeLinked
    }
}
