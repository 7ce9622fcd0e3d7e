internal import AuditLog
internal import ConfigText
internal import Crypto
internal import Foundation
internal import HostSystem
internal import Logging
internal import ServerCommandLine
internal import ServerSettings
internal import ServiceLifecycle
internal import StoreMaintenance
internal import MetricsEndpoint
internal import Vault
internal import Vocabulary
internal import WalletStore

// The audit log at start and stop.
//
// Store and log refer to each other: the store has the number and MAC of an entry, and the log has every revocation and
// permanent block. A start compares them, so an older store and a log that was cut, removed or replaced are detected.
extension RunningServer {
    /// Opens the audit log and compares it with the store; creates it if the store names no entry.
    static func openAudit(
        _ files: ServerFiles,
        of store: any ServedStore,
        epoch: Int,
        metrics: MetricRegistry,
        log: Logger,
        read: @escaping (AuditEntry) -> Void
    ) async throws -> AuditLog {
        let path = files.settings[SettingTable.auditFile]
        var parts = AuditLog.Parts(
            path: path,
            vault: CountedVault(files.vault, metrics: metrics),
            clock: try Self.clock(of: files.lab),
            epoch: epoch,
            onNewest: Self.announcing(to: store, log: log),
            onFatal: { reason in
                // A committed change has no record, so the server must do nothing more.
                log.critical("stopping at once", metadata: ["reason": "\(reason)"])
                exit(StartFailure.Kind.operatorMustAct.rawValue)
            }
        )
        parts.onWritten = try AuditExporter.sender(files.settings, metrics: metrics) { log.error("\($0)") }
        parts.generation = { store.soleGeneration }
        parts.last = try await Self.named(by: store)
        var check = StartCheck(after: parts.last)
        if let named = parts.last, !AuditLog.exists(at: path) {
            throw StartFailure(
                .operatorMustAct,
                "`audit.file`: there is no \(path), but the store names entry \(named.number) of it. Put the log back. "
                    + AuditLogError.withoutTheLog
            )
        }
        let audit: AuditLog
        do throws(AuditLogError) {
            if !AuditLog.exists(at: path) {
                // A warning, so that the removal of an earlier log does not go unnoticed.
                log.warning("there is no audit log; a new one is begun", metadata: ["file": "\(path)"])
                try await AuditLog.create(parts)
            }
            audit = try await AuditLog.open(parts) {
                check.read($0)
                read($0)
            }
        } catch {
            throw StartFailure(error)
        }
        do {
            let adopted = try await check.adoptRecords(of: store, in: audit)
            if adopted > 0 {
                log.notice("attempt records of an earlier version have MACs now", metadata: ["records": "\(adopted)"])
            }
            try await check.check(store)
            let unended = try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
            if unended > 0 { log.warning("commands were cut off by an earlier end", metadata: ["count": "\(unended)"]) }
        } catch {
            await audit.close()
            switch error {
            case let error as OlderStore: throw StartFailure(.operatorMustAct, "\(error)")
            case let error as AuditLogError: throw StartFailure(error)
            default: throw StartFailure(.files, "the store cannot be compared with the audit log: \(error)")
            }
        }
        return audit
    }

    /// The entry that the store names; nil before the first.
    private static func named(by store: any ServedStore) async throws -> AuditMark? {
        do throws(StoreError) {
            return try await store.auditMark().map { AuditMark($0) }
        } catch {
            throw StartFailure(.operatorMustAct, "cannot read the store's mark of the audit log; restore a backup")
        }
    }

    /// Passes each newest entry to the store and the server's log.
    private static func announcing(to store: any ServedStore, log: Logger) -> @Sendable (AuditMark) -> Void {
        // Logged at every level: without these marks a truncation of the audit log cannot be detected.
        var stream = log
        stream.logLevel = .notice
        let marks = stream
        return { newest in
            store.announce(StoredAuditMark(newest))
            var metadata: Logger.Metadata = ["newest": "\(newest)"]
            if let generation = store.soleGeneration { metadata["generation"] = "\(generation)" }
            marks.notice("audit log", metadata: metadata)
        }
    }

    /// Logs each new generation of the store with the newest entry, at most once a second, so that a log collection on
    /// another machine can show that an older store was put in its place.
    static func announceGenerations(of store: any ServedStore, _ audit: AuditLog, log: Logger) async {
        let announce = Self.announcing(to: store, log: log)
        await cancelWhenGracefulShutdown {
            var last = store.soleGeneration
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard store.soleGeneration != last else { continue }
                last = store.soleGeneration
                announce(audit.newest)
            }
        }
    }

    /// Records the start: version, attempt policy, and a digest of the settings.
    static func recordStart(
        _ settings: ServerSettings,
        in audit: AuditLog,
        of store: any ServedStore,
        log: Logger
    ) async {
        let policy = settings.attemptPolicy
        let blocks = policy.blocks.map { "\($0)" }.joined(separator: ", ")
        let git = BuildID.git.map { " (git \($0))" } ?? ""
        let detail =
            "version \(Version.number)\(git), \(policy.rounds) rounds of \(policy.attemptsPerRound), "
            + "blocks [\(blocks)], settings \(Self.digest(of: settings))"
        await Self.record(.started, detail: detail, in: audit, of: store, log: log)
    }

    /// Records the stop; the store then names the log's last entry.
    static func recordStop(in audit: AuditLog, of store: any ServedStore, log: Logger) async {
        await Self.record(.stopped, detail: nil, in: audit, of: store, log: log)
    }

    /// A full disk stops neither a start nor a stop: PIN checks need no entry.
    private static func record(
        _ event: AuditEvent,
        detail: String?,
        in audit: AuditLog,
        of store: any ServedStore,
        log: Logger
    ) async {
        do {
            try await audit.append(event, by: .server, .done(of: nil, result: ""), detail: detail)
            try await store.keepAuditMark()
        } catch {
            log.error(
                "not on record",
                metadata: ["event": "\(event.rawValue)", "detail": "\(detail ?? "")", "reason": "\(error)"]
            )
        }
    }

    /// A digest of all settings as `config show` prints them; without the values of secret ones.
    private static func digest(of settings: ServerSettings) -> String {
        let lines = settings.rows.map { "\($0.name)=\($0.value ?? "")\n" }.joined()
        return "sha256 " + Array(SHA256.hash(data: Array(lines.utf8)).prefix(16)).hex
    }
}
