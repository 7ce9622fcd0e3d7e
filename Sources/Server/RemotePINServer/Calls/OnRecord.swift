internal import AuditLog
internal import Logging
internal import PINPolicy
internal import Vocabulary
internal import WalletStore
internal import Wire

// Ends of wallets that no operator's command makes. Each is on record before it is committed, so that no committed one is
// missing there, whatever happens in between:
//
//     begun, durable ─▶ commit ─▶ done, durable ─▶ answer
//
// Only what changes something is recorded: nobody makes the log grow by saying again what has been said.
extension Services {
    /// Commits the end of a wallet by its user; where the audit log does not take it, nothing is done.
    func onRecord<Outcome>(
        _ event: AuditEvent,
        by actor: AuditActor,
        ending wallet: WalletID,
        log: Logger,
        _ commit: () async throws(StoreError) -> Outcome
    ) async throws(CallFailure) -> Outcome {
        let store = self.store
        let before = try await stored { () throws(StoreError) in try await store.report(of: wallet) }
        // One that has ended is ended again all the same: a repetition may follow a failure to empty the store's log.
        guard let before, before.revocation == nil else { return try await stored(commit) }
        let subject = AuditSubject(wallets: [wallet])
        let begun = try await self.begin(event, by: actor, on: subject, log: log)
        do throws(StoreError) {
            let outcome = try await commit()
            self.onEvent(.revoked(wallet, Revocation(reason: .user, mayRegisterAnew: true)))
            await self.audit.mustAppend(event, by: actor, on: subject, .done(of: begun, result: "revoked"))
            return outcome
        } catch {
            await self.audit.tryAppend(event, by: actor, on: subject, .unclear(of: begun, reason: "\(error)"))
            throw .store(error)
        }
    }

    fileprivate func begin(
        _ event: AuditEvent,
        by actor: AuditActor,
        on subject: AuditSubject,
        log: Logger
    ) async throws(CallFailure) -> UInt64 {
        do throws(AuditLogError) {
            return try await self.audit.append(event, by: actor, on: subject, .begun).number
        } catch {
            log.error("not done, since the audit log does not take it", metadata: ["reason": "\(error)"])
            throw .store(.unavailable)
        }
    }
}

extension Conversation {
    /// Has an attempt judged.
    ///
    /// One that links a denied recovery code, which ends the wallet, is on record before. Whether the code is denied
    /// cannot change in between: a denial waits for its turn.
    func judge(_ attempt: Attempt) async throws(CallFailure) -> AttemptOutcome {
        let store = self.services.store
        guard case .linkRecoveryCode(let bytes) = attempt.effect, let mac = RecoveryCodeMAC(bytes) else {
            return try await stored { () throws(StoreError) in try await store.judge(attempt) }
        }
        let turns = self.services.recoveryCodeTurns
        await turns.begin(mac)
        defer { turns.end(mac) }
        let isDenied = try await stored { () throws(StoreError) in try await store.denied(mac) } != nil
        guard isDenied else { return try await stored { () throws(StoreError) in try await store.judge(attempt) } }
        return try await self.judgeDeniedLink(attempt, mac)
    }

    private func judgeDeniedLink(_ attempt: Attempt, _ mac: RecoveryCodeMAC) async throws(CallFailure) -> AttemptOutcome
    {
        let (store, audit) = (self.services.store, self.services.audit)
        let before = try await stored { () throws(StoreError) in try await store.report(of: attempt.walletID) }
        // While a block lasts nothing is judged and nothing can end: whoever asks on and on fills no disk with it.
        guard let before, before.revocation == nil, !before.isBlocked(under: attempt.policy, at: attempt.now) else {
            return try await stored { () throws(StoreError) in try await store.judge(attempt) }
        }
        let subject = AuditSubject(wallets: [attempt.walletID], recoveryCode: mac)
        let begun = try await self.services.begin(.deniedLink, by: .wallet, on: subject, log: self.log.ofCall)
        let outcome: AttemptOutcome
        do throws(StoreError) {
            outcome = try await store.judge(attempt)
        } catch {
            await audit.tryAppend(.deniedLink, by: .wallet, on: subject, .unclear(of: begun, reason: "\(error)"))
            throw .store(error)
        }
        if case .revoked(let revocation) = outcome, revocation.reason != .solution {
            self.log.notice("wallet revoked by a link to a denied recovery code")
            self.services.onEvent(.revoked(attempt.walletID, revocation))
            await audit.mustAppend(.deniedLink, by: .wallet, on: subject, .done(of: begun, result: "revoked"))
        } else {
            await audit.mustAppend(.deniedLink, by: .wallet, on: subject, .failed(of: begun, reason: "not linked"))
        }
        return outcome
    }
}

extension StoredWallet {
    /// Whether an attempt made then is not judged; no other attempt can change that.
    fileprivate func isBlocked(under policy: AttemptPolicy, at now: Timestamp) -> Bool {
        switch self.attempts(under: policy).state(policy: policy, now: now) {
        case .open: false
        case .blocked, .blockedPermanently: true
        }
    }
}
