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
internal import PostgreSQLStore
internal import Vault
internal import Vocabulary
internal import WalletStore

// Audit log handling at start and stop.
//
// The store and the log refer to each other: the store holds the number and MAC of a log entry, and the log contains
// every revocation and permanent block. They are compared at start, so an older store is detected, and so is a log that
// was truncated, removed or replaced.
extension RunningServer {
    /// Opens the audit log and compares it with the store.
    ///
    /// Creates the log if the store does not name an entry.
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
            clock: try Self.clock(of: files.lab, store.lease),
            epoch: epoch,
            onNewest: Self.announcing(to: store, log: log),
            onFatal: { reason in
                // A committed change is missing from the log, so the server must do nothing more.
                log.critical("stopping at once", metadata: ["reason": "\(reason)"])
                ProcessEnd.atOnce(status: StartFailure.Kind.operatorMustAct.rawValue)
            }
        )
        parts.onWritten = try AuditExporter.sender(files.settings, metrics: metrics) { log.error("\($0)") }
        parts.generation = { store.generation }
        parts.server = files.database?.server
        // Another server's command may have opened the epoch, and the store names the newest entry of this log then.
        parts.opensEpoch = store.isShared
        parts.last = try await Self.named(by: store)
        var check = StartCheck(after: parts.last)
        if let named = parts.last, !AuditLog.exists(at: path) {
            throw StartFailure(
                .operatorMustAct,
                "`audit.file`: there is no \(path), but the store names entry \(named.number) of it. Put the log back. "
                    + (store.isShared ? Self.withoutTheSharedLog : AuditLogError.withoutTheLog)
            )
        }
        if !AuditLog.exists(at: path) {
            try await Self.comparing(store) { try await check.requireLog(of: store) }
            log.notice("there is no audit log; a new one is begun", metadata: ["file": "\(path)"])
        }
        try await Self.comparing(store) { try await check.readSetAside(besideAuditLog: path, vault: parts.vault) }
        var otherServer: String?
        let audit: AuditLog
        do throws(AuditLogError) {
            if !AuditLog.exists(at: path) { try await AuditLog.create(parts) }
            audit = try await AuditLog.open(parts) {
                check.read($0)
                read($0)
                if let name = $0.record.server, name != files.database?.server { otherServer = name }
            }
        } catch {
            throw Self.failure(error, of: store)
        }
        do {
            // A renamed server has no commits under its new name, which looks like the loss of all of them.
            if let otherServer {
                throw StartFailure(
                    .configuration,
                    "`audit.file`: \(path) is the log of the server \(otherServer), and `cluster.server` is "
                        + "\(files.database?.server ?? "not set"); a server keeps its name and its log"
                )
            }
            try await Self.comparing(store) { try await Self.compare(store, with: audit, at: path, check, log: log) }
        } catch {
            await audit.close()
            throw error
        }
        return audit
    }

    /// Compares the store with its audit log, and completes and repeats changes that are on record.
    private static func compare(
        _ store: any ServedStore,
        with audit: AuditLog,
        at path: String,
        _ check: StartCheck,
        log: Logger
    ) async throws {
        try await check.requireLog(of: store)
        let adopted = try await check.adoptRecords(of: store, in: audit)
        if adopted > 0 {
            log.notice("attempt records of an earlier version have MACs now", metadata: ["records": "\(adopted)"])
        }
        try await check.check(store)
        try check.checkMark(of: store, besideAuditLog: path)
        let unended = try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
        if unended > 0 { log.warning("commands were cut off by an earlier end", metadata: ["count": "\(unended)"]) }
        for change in try await check.repeatLost(in: store, audit) {
            let wallets = change.subject.wallets
            log.error(
                "another program changed the database: a change on record was not in force and was repeated",
                metadata: [
                    "event": "\(change.event.rawValue)", "count": "\(wallets.count)",
                    "wallets": "\(wallets.prefix(10).map(\.description).joined(separator: ", "))",
                ]
            )
        }
        try await (store as? SQLiteWalletStore)?.keepMark(besideAuditLog: path)
    }

    /// Converts the failure of a comparison to one that names the next step.
    private static func comparing(_ store: any ServedStore, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            switch error {
            case let error as OlderStore: throw await Self.failure(error, of: store)
            case let error as AuditLogError: throw StartFailure(error)
            case let error as FileError: throw StartFailure(AuditLogError.file(error))
            case let error as StartFailure: throw error
            default: throw StartFailure(.files, "the store cannot be compared with the audit log: \(error)")
            }
        }
    }

    /// The operator's next step without the log of a server that shares its store.
    private static let withoutTheSharedLog =
        "If it is lost while the database is well, give this server a new `cluster.server` and a new `audit.file`: "
        + "docs/cluster.md, \"Replace a server\""

    /// Returns the failure for a log that cannot be used, with the operator's next step for this kind of store.
    private static func failure(_ error: AuditLogError, of store: any ServedStore) -> StartFailure {
        guard store.isShared else { return StartFailure(error) }
        return switch error {
        case .lacksEntry(let path, let problem):
            StartFailure(
                .operatorMustAct,
                "`audit.file`: \(path) lacks an entry that the store names: \(problem). Put the log back. "
                    + Self.withoutTheSharedLog
            )
        case .damaged(let path, let problem):
            StartFailure(
                .operatorMustAct,
                "`audit.file`: \(path) was changed: \(problem). Keep it, and put the original log back. "
                    + Self.withoutTheSharedLog
            )
        case .otherEpoch(let path, let log, let epoch) where log > epoch:
            StartFailure(
                .operatorMustAct,
                "`audit.file`: \(path) ends in epoch \(log), but the store has epoch \(epoch): the database is an "
                    + "older copy. \(Problem.epochWayOut)"
            )
        case .file, .vault, .tooLong, .closed, .inUse, .otherEpoch: StartFailure(error)
        }
    }

    /// The entry named by the store, or nil if there is none yet.
    private static func named(by store: any ServedStore) async throws -> AuditMark? {
        do throws(StoreError) {
            return try await store.auditMark().map { AuditMark($0) }
        } catch {
            throw StartFailure(.operatorMustAct, "cannot read the store's mark of the audit log; restore a backup")
        }
    }

    /// Returns a function that passes each new entry to the store and the server's log.
    private static func announcing(to store: any ServedStore, log: Logger) -> @Sendable (AuditMark) -> Void {
        // The marks are logged regardless of the log level. Without them, a truncated audit log could not be detected.
        var stream = log
        stream.logLevel = .notice
        let marks = stream
        return { newest in
            store.announce(StoredAuditMark(newest))
            marks.notice("audit log", metadata: ["newest": "\(newest)", "generation": "\(store.generation)"])
        }
    }

    /// Logs each new generation of the store together with the newest entry, at most once a second.
    ///
    /// A log collector on another machine can then show that the store was replaced with an older one.
    static func announceGenerations(of store: any ServedStore, _ audit: AuditLog, log: Logger) async {
        let announce = Self.announcing(to: store, log: log)
        await cancelWhenGracefulShutdown {
            var last = store.generation
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                guard store.generation != last else { continue }
                last = store.generation
                announce(audit.newest)
            }
        }
    }

    /// Records the start with the version, the attempt policy, and a digest of the settings.
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

    /// Records the stop.
    ///
    /// Afterwards, the store names the last entry in the log.
    static func recordStop(in audit: AuditLog, of store: any ServedStore, log: Logger) async {
        await Self.record(.stopped, detail: nil, in: audit, of: store, log: log)
    }

    /// Records an event without failing: a full disk must not prevent a start or a stop, since PIN checks need no
    /// entry.
    private static func record(
        _ event: AuditEvent,
        detail: String?,
        in audit: AuditLog,
        of store: any ServedStore,
        log: Logger
    ) async {
        do {
            // The logs name each other's servers, so that an epoch is not opened without one of them.
            let servers = try? await (store as? PostgreSQLWalletStore)?.servers().map(\.name)
            try await audit.append(event, by: .server, .done(of: nil, result: ""), detail: detail, servers: servers)
            try await store.keepAuditMark()
        } catch {
            log.error(
                "not on record",
                metadata: ["event": "\(event.rawValue)", "detail": "\(detail ?? "")", "reason": "\(error)"]
            )
        }
    }

    /// Returns a digest of all settings as printed by `config show`.
    ///
    /// Secret values are not included.
    private static func digest(of settings: ServerSettings) -> String {
        let lines = settings.rows.map { "\($0.name)=\($0.value ?? "")\n" }.joined()
        return "sha256 " + Array(SHA256.hash(data: Array(lines.utf8)).prefix(16)).hex
    }
}
