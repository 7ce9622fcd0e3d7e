internal import AuditLog
internal import HostSystem
internal import Logging
internal import Vocabulary
internal import WalletStore

// If a wallet would be linked to a recovery code on the deny list, it is revoked instead.
extension Conversation {
    /// Judges an attempt that links a recovery code, and revokes the wallet if the code is on the deny list.
    ///
    /// The revocation is recorded only after the commit in which the PIN turned out to be correct. A wrong PIN, a
    /// repeated or outdated attempt, or a wallet that is already linked leaves no audit entry. The lock prevents the
    /// same code from being denied between the verdict and the revocation.
    func judge(_ attempt: Attempt, linking code: RecoveryCodeMAC) async throws -> CertifiedOutcome {
        let (store, revocations) = (self.server.store, self.server.revocations)
        let outcome = try await revocations.recoveryCodeLocks.withLock(code) {
            let judged = try await store.judge(attempt)
            guard case .valid(.codeDenied) = judged.outcome else { return judged }
            do {
                return CertifiedOutcome(.revoked(try await self.endWallet(of: attempt, linking: code)))
            } catch {
                throw CallFailure.afterVerdict(error)
            }
        }
        // After this answer, no data may be sent on the wallet's other connections (G7).
        if case .revoked(let revocation) = outcome.outcome, revocation.reason == .recoveryCode {
            await self.server.registry.abortAll(of: [attempt.walletID], except: self.handle.id)
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
        let ended = try await self.server.revocations.record(end, log: self.log.ofCall) {
            try await store.end([wallet], as: revocation, at: attempt.now)
        }
        guard ended == 0 else { return revocation }
        // Another request has already revoked the wallet.
        return try await store.report(of: wallet)?.revocation ?? revocation
    }
}
