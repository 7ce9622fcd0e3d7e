internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC3.1/1.4: the user's recovery code is linked to the registration; the PIN authorizes it.
extension WalletEngine {
    /// Links the code, then records durably that the wallet has an identity.
    ///
    /// The answer alone proves nothing that a file may depend on. The PIN is right if the link was
    /// made, so a check of the same PIN on the same connection costs no attempt, and its share
    /// proves that the server answered.
    func linkRecoveryCode(_ code: RecoveryCode, paidBy entry: PINEntry) async throws -> Answer {
        let outcome = try await self.instruct(.linkRecoveryCode(code.bytes), paidBy: entry)
        switch outcome.result {
        case .recoveryCodeLinked: break
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .pinChanged, .deletionCode: throw Failure.local(.replyUnexpected)
        }
        if !outcome.connection.isServerProven {
            _ = try await self.checkPIN(entry)
            // A check on another connection proves only the peer there: the user has to try the
            // link again.
            guard outcome.connection.isServerProven else { throw Failure.serverUnreachable(notCounted: true) }
        }
        try self.change { $0.registration?.hasPID = true }
        return .recoveryCodeLinked
    }
}
