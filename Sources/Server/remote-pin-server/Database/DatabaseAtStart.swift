internal import AuditLog
internal import HostSystem
internal import Telemetry
internal import Logging
internal import PostgreSQLStore
internal import ServerSettings
internal import ServiceLifecycle
internal import MetricsEndpoint
internal import StoreMaintenance
internal import Vault
internal import Vocabulary
internal import WalletStore

/// Opens the PostgreSQL store when the server starts, after checking everything that a failover depends on.
///
/// Invariant: nothing is judged if the database could lose commits or its clock differs.
struct DatabaseAtStart {
    let database: DatabaseSettings
    let files: ServerFiles
    let watch: ServerWatch
    let log: Logger

    /// The largest allowed difference between the clocks of the server and the database.
    ///
    /// The end of a block may be computed by one server and compared by another.
    private static let clockTolerance: Duration = .seconds(1)

    /// Opens the store and acquires this server's lease.
    func open() async throws -> PostgreSQLWalletStore {
        let (database, files, watch, log) = (self.database, self.files, self.watch, self.log)
        let report = try await database.report()
        try report.requireUsable(at: database.place)
        if files.lab == nil { try Self.check(report) }  // rule: server-clock-not-compared
        try Self.requireNoCopy(into: report, for: files.settings)
        let lines = LogRateLimiter(burst: 3, each: .seconds(10))
        var parts = database.parts(
            key: RecordKey.derived(by: files.vault),
            policy: files.policy,
            receipts: files.vault.receiptSigner,
            metrics: watch.registry
        ) { reason, error in
            let cure = error.flatMap(Problem.cure(of:))
            watch.readiness.note(cure.map { "\(reason); \($0)" } ?? reason)
            guard var metadata = lines.allow(["reason": "\(reason)"]) else { return }
            if let cure { metadata["cure"] = "\(cure)" }
            log.error("the database refused calls", metadata: metadata)
        }
        parts.commitMark = CommitMark.path(ofAuditLog: files.settings[SettingTable.auditFile])
        parts.onEpochEnd = {
            let reason = Problem(PostgreSQLStoreOpenError.epochEnded)
            log.critical("stopping at once", metadata: ["reason": "\(reason)"])
            // The service manager restarts the server, which then compares the database with the audit log.
            ProcessEnd.atOnce(status: StartFailure.Kind.unavailable.rawValue)  // rule: epoch-does-not-end-program
        }
        parts.program = Version.number
        parts.vaultKeys = { [vault = files.vault] in
            vault.versions.compactMap { vault.name(of: $0) }
        }
        if let from = try await database.migrate(parts) {
            log.notice(
                "the store was upgraded; servers of the earlier version cannot connect to it anew",
                metadata: ["from": "\(from)", "to": "\(DatabaseReport.knownSchemaVersion)"]
            )
        }
        let store = try await database.openLeased(parts)
        for sentence in report.sentences(for: database) {
            log.notice("database", metadata: ["state": "\(sentence)"])
        }
        log.notice(
            "database opened",
            metadata: [
                "database": "\(database.place)", "version": "\(report.version)", "server": "\(database.server)",
                "durability": "\(database.durability.rawValue)",
            ]
        )
        return store
    }

    /// Rejects an empty store if this server's audit log is that of another one, which is still to be copied.
    ///
    /// Nothing is written: `store copy` needs a database that no server has used. A server that has served a database
    /// has the mark of its commits beside its log.
    private static func requireNoCopy(into report: DatabaseReport, for settings: ServerSettings) throws {
        let log = settings[SettingTable.auditFile]
        guard report.isUnused, AuditLog.exists(at: log), !DurableFile.exists(CommitMark.path(ofAuditLog: log)) else {
            return
        }
        throw StartFailure(
            .unavailable,
            "the database awaits a copy: it is empty, no server has used it, and \(log) is the audit log of another "
                + "store. To move that store here, run `remote-pin-server store copy`, and start the server again. To "
                + "begin with an empty store instead, name a new file in `audit.file`"
        )
    }

    private static func check(_ report: DatabaseReport) throws {
        let difference = SystemClock().now() - Timestamp(milliseconds: report.clock)
        let distance = difference < .zero ? .zero - difference : difference
        guard distance > Self.clockTolerance + report.clockUncertainty else { return }
        throw StartFailure(
            .unavailable,
            "the clocks of this machine and of the database differ by \(distance.spoken): synchronize both with NTP"
        )
    }
}

extension Readiness {
    /// The time after which a probe of the database has failed for another reason than a connection that a failover
    /// closed.
    private static let slowProbe: Duration = .seconds(1)

    /// Reports the server as not ready while the database judges no attempt, runs no other step, or the server has no
    /// lease, so that a load balancer sends wallets to other servers.
    ///
    /// Returns at graceful shutdown or cancellation.
    func follow(_ store: PostgreSQLWalletStore, log: Logger) async {
        await cancelWhenGracefulShutdown {
            var failures = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                let start = ContinuousClock.now
                do throws(StoreError) {
                    try await store.probe()
                    _ = try await store.isSolutionRevoked()
                    guard store.lease?.isHeld ?? true else { throw StoreError.unavailable }
                    if failures > 1 { log.notice("the database answers again") }
                    failures = 0
                    self.resume()
                } catch {
                    failures += ContinuousClock.now - start > Self.slowProbe ? 2 : 1
                    // One fast failure may be a connection that a failover closed.
                    guard failures > 1, self.pause() else { continue }
                    log.error(
                        "not ready: the database judges no attempt, or the lease was not renewed",
                        metadata: ["reason": "\(self.reason)"]
                    )
                }
            }
        }
    }
}
