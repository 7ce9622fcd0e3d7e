internal import AuditLog
internal import HostSystem
internal import Logging
internal import Vocabulary
internal import WalletStore

// The link to a recovery code that is on the deny list: instead of linking, it ends the wallet.
extension Conversation {
    /// Judges an attempt that links a recovery code, and ends the wallet if the code is denied.
    ///
    /// The end is recorded only after the commit that found the PIN right: a wrong PIN, a repeated
    /// or outdated attempt and a wallet that is linked already leave no entry. The lock keeps a
    /// denial of the same code from committing between the verdict and the end.
    func judge(_ attempt: Attempt, linking code: RecoveryCodeMAC) async throws -> CertifiedOutcome {
        let (store, revocations) = (self.server.store, self.server.revocations)
        let outcome = try await revocations.recoveryCodeLocks.withLock(code) {
            let certified = try await store.certify(attempt)
            guard case .valid(.codeDenied) = certified.outcome else { return certified }
            do {
                return CertifiedOutcome(.revoked(try await self.endWallet(of: attempt, linking: code)))
            } catch {
                throw CallFailure.afterVerdict(error)
            }
        }
        // Nothing that the wallet's other connections carry may outlive this answer (G7).
        if case .revoked(let revocation) = outcome.outcome, revocation.reason == .recoveryCode {
            await self.server.registry.abortAll(of: attempt.walletID, except: self.handle.id)
        }
        return outcome
    }

    private func endWallet(of attempt: Attempt, linking code: RecoveryCodeMAC) async throws -> Revocation {
        let (store, wallet) = (self.server.store, attempt.walletID)
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        let end = Revocations.End(
            event: .deniedLink,
            actor: .wallet,
            wallet: wallet,
            revocation: revocation,
            recoveryCode: code,
            message: "wallet revoked by a link to a denied recovery code"
        )
        let ending = try await self.server.revocations.record(end, log: self.log.ofCall) {
            try await store.end([wallet], as: revocation, at: attempt.now)
        }
        guard ending.ended == 0 else { return revocation }
        // Another request ended the wallet first.
        return try await store.report(of: wallet)?.revocation ?? revocation
    }
}
