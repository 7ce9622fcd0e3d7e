package import AuditLog
package import HostSystem
internal import Telemetry
internal import Logging
internal import Synchronization
package import Vocabulary
internal import WalletStore

/// Ends wallets in all cases except operator commands, and records each end before it is committed.
///
///     begun, durable ─▶ commit ─▶ done, durable ─▶ answer
///
/// No committed end is therefore missing from the audit log, even after a crash between these steps.
///
/// Invariant: the end of a wallet leaves at most two entries in this server's log, of which the second may be written
/// at the next start, no matter what wallets and attackers request. A wrong PIN leaves no entry, and no end is recorded
/// twice in one log.
///
/// Several servers that are asked for the same end at the same time each record it, since each must have the entry in
/// its own log before it commits. A server that is asked after the commit records nothing.
package final class Revocations: Sendable {
    package let audit: AuditLog
    let store: any WalletStore
    let registry: ConnectionRegistry
    private let lease: (any ServerLease)?
    private let onEvent: @Sendable (WalletIncident) -> Void
    /// Serializes links to a recovery code with its denial, which records the linked wallets before it is committed.
    package let recoveryCodeLocks = KeyedAsyncLock<RecoveryCodeMAC>()
    /// Serializes requests to end a wallet at this server, so that concurrent requests record only one end.
    private let endLocks = KeyedAsyncLock<WalletID>()
    /// The entries of wallet ends that were recorded as begun but not accepted by the store.
    private let begunEnds = Mutex<[BegunEnd: BegunEntry]>([:])
    /// Limits the log lines about unknown deletion codes, because clients control how often these occur.
    let unknownCodeLog = LogRateLimiter(burst: 20, each: .seconds(10))
    /// Limits the log lines about rejected entries, because a wallet controls how often it reports its end.
    private let rejectionLog = LogRateLimiter(burst: 20, each: .seconds(10))

    init(
        store: any WalletStore,
        audit: AuditLog,
        registry: ConnectionRegistry,
        lease: (any ServerLease)?,
        onEvent: @escaping @Sendable (WalletIncident) -> Void
    ) {
        self.store = store
        self.audit = audit
        self.registry = registry
        self.lease = lease
        self.onEvent = onEvent
    }

    /// The end of a wallet, as recorded in the audit log and reported to its owner.
    struct End {
        var event: AuditEvent
        var actor: AuditActor
        var wallet: WalletID
        var revocation: Revocation
        var recoveryCode: RecoveryCodeMAC?
        /// The log message, written once.
        var message: Logger.Message

        var subject: AuditSubject { AuditSubject(wallets: [self.wallet], recoveryCode: self.recoveryCode) }
        fileprivate var key: BegunEnd { BegunEnd(event: self.event, wallet: self.wallet) }
    }

    /// Identifies a wallet's end that was recorded as begun.
    fileprivate struct BegunEnd: Hashable {
        let event: AuditEvent
        let wallet: WalletID
    }

    private struct BegunEntry {
        let number: UInt64
        /// Whether the outcome of a commit was unknown.
        var isUnknown = false
    }

    /// Commits the end of a wallet and returns after every server has acknowledged it.
    ///
    /// Does nothing if the audit log rejects the entry. If the store rejects the end, it stays begun and the next
    /// request continues with the same entry, so that requests against a full store do not fill the audit log too. A
    /// restore treats a begun end as done, which is safe because the requester was entitled to end the wallet.
    func record<Outcome>(
        _ end: End,
        log: Logger,
        _ commit: () async throws -> Outcome
    ) async throws -> Outcome {
        await self.endLocks.acquire(end.wallet)
        defer { self.endLocks.release(end.wallet) }
        // If the wallet has already ended, the end is committed again without an entry, because the request may be a
        // retry after the store's log could not be emptied.
        guard let report = try await self.store.report(of: end.wallet), report.revocation == nil else {
            let outcome = try await commit()
            // The commit of an earlier request has succeeded although its outcome was unknown.
            if let begun = self.begunEnds.withLock({ $0[end.key] }), begun.isUnknown {
                await self.finish(end, begun: begun.number, log: log)
            }
            // An earlier request may have failed here.
            _ = try await self.lease?.acknowledgements()
            return outcome
        }
        let begun: UInt64
        if let earlier = self.begunEnds.withLock({ $0[end.key] }) {
            begun = earlier.number
        } else {
            begun = try await self.begin(end, log: log)
            self.begunEnds.withLock { $0[end.key] = BegunEntry(number: begun) }
        }
        do {
            let outcome = try await commit()
            await self.finish(end, begun: begun, log: log)
            _ = try await self.lease?.acknowledgements()
            return outcome
        } catch StoreError.outcomeUnknown {
            self.begunEnds.withLock { $0[end.key]?.isUnknown = true }
            throw StoreError.outcomeUnknown
        } catch StoreError.notErased {
            // The wallet has ended. Later requests will find that it has ended and take neither of these steps.
            await self.registry.abortAll(of: [end.wallet])
            await self.finish(end, begun: begun, log: log)
            throw StoreError.notErased
        }
    }

    /// Records, logs and reports the committed end of a wallet.
    private func finish(_ end: End, begun: UInt64, log: Logger) async {
        log.notice(end.message, metadata: ["wallet": "\(end.wallet)"])
        self.begunEnds.withLock { $0[end.key] = nil }
        self.onEvent(.revoked(end.wallet, end.revocation))
        await self.audit.mustAppend(
            end.event,
            by: end.actor,
            on: end.subject,
            .done(of: begun, result: "revoked")
        )
    }

    private func begin(_ end: End, log: Logger) async throws -> UInt64 {
        do {
            return try await self.audit.append(end.event, by: end.actor, on: end.subject, .begun).number
        } catch {
            if let metadata = self.rejectionLog.allow(["reason": "\(error)"]) {
                log.error("not done: the audit log rejected the entry", metadata: metadata)
            }
            throw StoreError.unavailable
        }
    }
}
