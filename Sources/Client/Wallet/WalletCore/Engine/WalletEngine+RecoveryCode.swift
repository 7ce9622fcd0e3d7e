internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC3.1/1.4: the person's recovery code is linked to the registration; the PIN pays for it.
extension WalletEngine {
    /// Links the code, then remembers durably that the wallet has an identity.
    ///
    /// The answer alone proves nothing that a file may depend on. The PIN is right where it was given, so checking it
    /// once more on the same connection costs nothing, and its share proves who answered.
    func linkRecoveryCode(_ code: RecoveryCode, paidBy entry: PINEntry) async throws(Failure) -> Answer {
        let instructed = try await self.instruct(.linkRecoveryCode(code.bytes), paidBy: entry)
        switch instructed.result {
        case .recoveryCodeLinked: break
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(instructed.result)
        case .pinValid, .pinChanged, .deletionCode: throw .local
        }
        if !instructed.connection.isServerProven {
            _ = try await self.checkPIN(entry)
            // On another connection it proves another's answer: the connection is made once more.
            guard instructed.connection.isServerProven else { throw .serverUnreachable(notCounted: true) }
        }
        try self.change { $0.registration?.hasPID = true }
        return .recoveryCodeLinked
    }
}
