internal import AuditLog
internal import HostSystem
internal import Logging
internal import Synchronization
internal import Vocabulary
internal import WalletStore
internal import Wire

// Ends of wallets that no operator's command makes. Each is on record before it is committed, so that no committed one is
// missing there, whatever happens in between:
//
//     begun, durable ─▶ commit ─▶ done, durable ─▶ answer
//
// Invariant: whatever wallets and strangers send, a wallet gets two entries for its end and no others. Nothing is on
// record of a PIN that was not right, and nothing twice.

/// An end that was begun: by what, of which wallet.
struct BegunEnd: Hashable {
    let event: AuditEvent
    let wallet: WalletID
}

extension Services {
    /// Commits a wallet's end; where the audit log does not take it, nothing is done.
    ///
    /// One that the store does not take stays begun, and the next try goes on with its entry: a store whose disk is full
    /// has nobody fill the audit log's. Restores take what is begun for done; whoever began it may end the wallet.
    ///
    /// - Parameter line: what the log says of it, once.
    func onRecord<Outcome>(
        _ event: AuditEvent,
        by actor: AuditActor,
        ending wallet: WalletID,
        as revocation: Revocation,
        through code: RecoveryCodeMAC? = nil,
        saying line: Logger.Message,
        log: Logger,
        _ commit: () async throws(StoreError) -> Outcome
    ) async throws(CallFailure) -> Outcome {
        await self.endTurns.begin(wallet)
        defer { self.endTurns.end(wallet) }
        let store = self.store
        let before = try await stored { () throws(StoreError) in try await store.report(of: wallet) }
        // One that has ended is ended again all the same: a repetition follows a failure to empty the store's log.
        guard let before, before.revocation == nil else { return try await stored(commit) }
        let subject = AuditSubject(wallets: [wallet], recoveryCode: code)
        let end = BegunEnd(event: event, wallet: wallet)
        let begun: UInt64
        if let earlier = self.begunEnds.withLock({ $0[end] }) {
            begun = earlier
        } else {
            begun = try await self.begin(event, by: actor, on: subject, log: log)
            self.begunEnds.withLock { $0[end] = begun }
        }
        do throws(StoreError) {
            let outcome = try await commit()
            await self.noteEnd(end, of: begun, by: actor, on: subject, as: revocation, saying: line, log: log)
            return outcome
        } catch {
            if error == .notErased {
                // It has ended, and who asks again finds it so: now or never.
                await self.registry.abortAll(of: wallet, except: nil)
                await self.noteEnd(end, of: begun, by: actor, on: subject, as: revocation, saying: line, log: log)
            }
            throw .store(error)
        }
    }

    /// Tells of an end that was committed.
    private func noteEnd(
        _ end: BegunEnd,
        of begun: UInt64,
        by actor: AuditActor,
        on subject: AuditSubject,
        as revocation: Revocation,
        saying line: Logger.Message,
        log: Logger
    ) async {
        log.notice(line, metadata: ["wallet": "\(end.wallet)"])
        self.begunEnds.withLock { $0[end] = nil }
        self.onEvent(.revoked(end.wallet, revocation))
        await self.audit.mustAppend(end.event, by: actor, on: subject, .done(of: begun, result: "revoked"))
    }

    private func begin(
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
    /// Has an attempt judged; a right PIN that links a denied recovery code ends the wallet.
    ///
    /// On record only once the PIN was found right, durably: a wrong one, a repeated or an outdated attempt, a wallet that
    /// is linked already leave no entry.
    func judge(_ attempt: Attempt) async throws(CallFailure) -> AttemptOutcome {
        let store = self.services.store
        guard case .linkRecoveryCode(let bytes) = attempt.effect, let mac = RecoveryCodeMAC(bytes) else {
            return try await stored { () throws(StoreError) in try await store.judge(attempt) }
        }
        return try await self.services.recoveryCodeTurns.alone(mac) { () throws(CallFailure) in
            let outcome = try await stored { () throws(StoreError) in try await store.judge(attempt) }
            guard case .valid(.codeDenied) = outcome else { return outcome }
            return try await self.endForDeniedCode(attempt, mac)
        }
    }

    private func endForDeniedCode(
        _ attempt: Attempt,
        _ mac: RecoveryCodeMAC
    ) async throws(CallFailure) -> AttemptOutcome {
        let (store, wallet) = (self.services.store, attempt.walletID)
        let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        let ending = try await self.services.onRecord(
            .deniedLink,
            by: .wallet,
            ending: wallet,
            as: revocation,
            through: mac,
            saying: "wallet revoked by a link to a denied recovery code",
            log: self.log.ofCall
        ) { () throws(StoreError) in
            try await store.end([wallet], as: revocation, at: attempt.now)
        }
        guard ending.ended == 0 else { return .revoked(revocation) }
        // Something else ended it first.
        let report = try await stored { () throws(StoreError) in try await store.report(of: wallet) }
        return .revoked(report?.revocation ?? revocation)
    }
}
