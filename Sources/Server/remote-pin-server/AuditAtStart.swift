internal import AuditLog
internal import HostSystem
internal import Logging
internal import OperatorChannels
internal import ServerSettings
internal import StoreMaintenance
internal import MetricsEndpoint
internal import PostgreSQLStore
internal import Vault
internal import Vocabulary
internal import WalletStore

/// Opens the audit log when the server starts, and compares it with the store.
///
/// The store and the log refer to each other: the store holds the number and MAC of a log entry, and the log contains
/// every revocation and permanent block. An older store is therefore detected, and so is a log that was truncated,
/// removed or replaced.
struct AuditAtStart {
    let files: ServerFiles
    let store: any ServedStore
    let clock: any WallClock
    let epoch: Int
    let metrics: MetricRegistry
    let log: Logger

    private var path: String { self.files.settings[SettingTable.auditFile] }

    /// Opens the audit log and compares it with the store.
    ///
    /// Creates the log if the store does not name an entry.
    ///
    /// - Parameter read: Called with each entry of the log.
    func open(read: @escaping (AuditEntry) -> Void = { _ in }) async throws -> AuditLog {
        let parts = try await self.parts()
        var check = StartCheck(after: parts.last)
        if let named = parts.last, !AuditLog.exists(at: self.path) {
            throw StartFailure(
                .operatorMustAct,
                "`audit.file`: there is no \(self.path), but the store names entry \(named.number) of it. Put the log "
                    + "back. " + (self.store.isShared ? Self.withoutTheSharedLog : AuditLogError.withoutTheLog)
            )
        }
        if !AuditLog.exists(at: self.path) {
            try await self.comparing { try await check.requireLog(of: self.store) }
            self.log.notice("there is no audit log; a new one is begun", metadata: ["file": "\(self.path)"])
        }
        try await self.comparing { try await check.readSetAside(besideAuditLog: self.path, vault: parts.vault) }
        var otherServer: String?
        let audit: AuditLog
        do throws(AuditLogError) {
            if !AuditLog.exists(at: self.path) { try await AuditLog.create(parts) }
            audit = try await AuditLog.open(parts) {
                check.read($0)
                read($0)
                if let name = $0.record.server, name != parts.server { otherServer = name }
            }
        } catch {
            throw self.failure(error)
        }
        do {
            // A renamed server has no commits under its new name, which looks like the loss of all of them.
            if let otherServer {
                throw StartFailure(
                    .configuration,
                    "`audit.file`: \(self.path) is the log of the server \(otherServer), and `cluster.server` is "
                        + "\(parts.server ?? "not set"); a server keeps its name and its log"
                )
            }
            try await self.comparing { try await self.compare(with: audit, check) }
        } catch {
            await audit.close()
            throw error
        }
        return audit
    }

    private func parts() async throws -> AuditLog.Parts {
        let (store, log) = (self.store, self.log)
        var parts = AuditLog.Parts(
            path: self.path,
            vault: self.files.vault,
            clock: self.clock,  // rule: audit-clock-of-machine
            epoch: self.epoch,
            onNewest: ServerRecords.announcing(to: store, log: log),
            onFatal: { reason in
                // A committed change is missing from the log, so the server must do nothing more.
                log.critical("stopping at once", metadata: ["reason": "\(reason)"])
                ProcessEnd.atOnce(status: StartFailure.Kind.operatorMustAct.rawValue)
            }
        )
        parts.onWritten = try AuditExporter(self.files.settings, metrics: self.metrics) { log.error("\($0)") }.send
        parts.generation = { store.generation }
        parts.server = self.files.database?.server
        // Another server's command may have opened the epoch, and the store names the newest entry of this log then.
        parts.opensEpoch = store.isShared
        parts.last = try await self.namedEntry()
        return parts
    }

    /// Compares the store with its audit log, and completes and repeats changes that are on record.
    private func compare(with audit: AuditLog, _ check: StartCheck) async throws {
        let store = self.store
        try await check.requireLog(of: store)
        try await check.check(store)
        try check.checkMark(of: store, besideAuditLog: self.path)
        let unended = try await audit.endUnended { try await StartCheck.carryOut($0, on: store) }
        if unended > 0 {
            self.log.warning("commands were cut off by an earlier end", metadata: ["count": "\(unended)"])
        }
        for change in try await check.repeatLost(in: store, audit) {
            let wallets = change.subject.wallets
            self.log.error(
                "another program changed the database: a change on record was not in force and was repeated",
                metadata: [
                    "event": "\(change.event.rawValue)", "count": "\(wallets.count)",
                    "wallets": "\(wallets.prefix(10).map(\.description).joined(separator: ", "))",
                ]
            )
        }
        try await (store as? SQLiteWalletStore)?.keepMark(besideAuditLog: self.path)
    }

    /// Converts the failure of a comparison to one that names the next step.
    private func comparing(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch {
            switch error {
            case let error as OlderStore: throw await StoreChecks.failure(error, of: self.store)
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
    private func failure(_ error: AuditLogError) -> StartFailure {
        guard self.store.isShared else { return StartFailure(error) }
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
        case .file, .tooLong, .closed, .inUse, .otherEpoch: StartFailure(error)
        }
    }

    /// The entry named by the store, or nil if there is none yet.
    private func namedEntry() async throws -> AuditMark? {
        try await mapError(of: await self.store.auditMark().map { AuditMark($0) }) { (_: StoreError) in
            StartFailure(.operatorMustAct, "cannot read the store's mark of the audit log; restore a backup")
        }
    }
}
