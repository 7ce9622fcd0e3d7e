package import AuditLog
package import HostSystem
internal import LogLines
internal import Logging
internal import Synchronization
package import Vocabulary
internal import WalletStore

/// The ends of wallets that no operator's command causes, each on record before its commit.
///
///     begun, durable ─▶ commit ─▶ done, durable ─▶ answer
///
/// So no committed end is missing from the audit log, even after a crash in between.
///
/// Invariant: a wallet's end leaves two entries and no others, regardless of the requests of
/// wallets and attackers. A wrong PIN leaves no entry, and no end is recorded twice.
package final class Revocations: Sendable {
    package let audit: AuditLog
    let store: any WalletStore
    let registry: ConnectionRegistry
    private let onEvent: @Sendable (WalletIncident) -> Void
    /// Serializes links to a recovery code with its denial, which records the linked wallets before
    /// its commit.
    package let recoveryCodeLocks = KeyedAsyncLock<RecoveryCodeMAC>()
    /// Serializes the ends of one wallet, so that concurrent requests put a single end on record.
    private let endLocks = KeyedAsyncLock<WalletID>()
    /// The entry numbers of ends that are on record as begun and that the store did not accept.
    private let begunEnds = Mutex<[BegunEnd: UInt64]>([:])
    /// Limits the log lines about unknown deletion codes, whose rate a client determines.
    let unknownCodeLog = LogRateLimiter(burst: 20, each: .seconds(10))

    init(
        store: any WalletStore,
        audit: AuditLog,
        registry: ConnectionRegistry,
        onEvent: @escaping @Sendable (WalletIncident) -> Void
    ) {
        self.store = store
        self.audit = audit
        self.registry = registry
        self.onEvent = onEvent
    }

    /// The end of one wallet, as the audit log and the wallet's owner see it.
    struct End {
        var event: AuditEvent
        var actor: AuditActor
        var wallet: WalletID
        var revocation: Revocation
        var recoveryCode: RecoveryCodeMAC?
        /// The log line, written once.
        var message: Logger.Message

        var subject: AuditSubject { AuditSubject(wallets: [self.wallet], recoveryCode: self.recoveryCode) }
        fileprivate var key: BegunEnd { BegunEnd(event: self.event, wallet: self.wallet) }
    }

    /// The key of an end that was begun.
    fileprivate struct BegunEnd: Hashable {
        let event: AuditEvent
        let wallet: WalletID
    }

    /// Commits a wallet's end; does nothing if the audit log rejects the entry.
    ///
    /// An end that the store rejects stays begun, and the next request continues with its entry:
    /// requests against a full store must not fill the audit log as well. A restore treats a begun
    /// end as done, which is safe because the requester was entitled to end the wallet.
    func record<Outcome>(
        _ end: End,
        log: Logger,
        _ commit: () async throws -> Outcome
    ) async throws -> Outcome {
        await self.endLocks.acquire(end.wallet)
        defer { self.endLocks.release(end.wallet) }
        // The end of an ended wallet is committed again without an entry, because the request may
        // be a retry after a failure to empty the store's log.
        guard let report = try await self.store.report(of: end.wallet), report.revocation == nil else {
            return try await commit()
        }
        let begun: UInt64
        if let earlier = self.begunEnds.withLock({ $0[end.key] }) {
            begun = earlier
        } else {
            begun = try await self.begin(end, log: log)
            self.begunEnds.withLock { $0[end.key] = begun }
        }
        do {
            let outcome = try await commit()
            await self.finish(end, begun: begun, log: log)
            return outcome
        } catch StoreError.notErased {
            // The wallet has ended. A later request finds it so and takes neither of these steps.
            await self.registry.abortAll(of: end.wallet, except: nil)
            await self.finish(end, begun: begun, log: log)
            throw StoreError.notErased
        }
    }

    /// Records, logs and reports a committed end.
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
            log.error("not done: the audit log rejected the entry", metadata: ["reason": "\(error)"])
            throw StoreError.unavailable
        }
    }
}
