internal import Administration
internal import AdminProtocol
internal import AuditLog
internal import EventHooks
internal import Glibc
internal import LabFiles
internal import LogLines
internal import Logging
internal import Metrics
internal import RemotePINServer
internal import ServerCommandLine
internal import MetricsEndpoint
internal import PostgreSQLStore
internal import Telemetry
internal import ServerSettings
internal import ServiceLifecycle
internal import StoreMaintenance
internal import HostSystem
internal import Statements
internal import Transport
internal import UnixSignals
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Witness

/// The composition root: opens what the configuration names, cheap checks first, and serves until a signal stops it.
enum RunningServer {
    static func run(_ loaded: LoadedSettings) async throws {
        let settings = loaded.settings
        let output = try Self.output(settings)
        let handler = output.handler(
            settings[SettingTable.logFormat],
            level: Logger.Level(settings[SettingTable.logLevel])
        )
        let log = Logger(label: "remote-pin-server") { _ in handler }
        do {
            try await Self.run(loaded, output: output, log: log)
        } catch let failure as StartFailure {
            // The reason is also written to standard error, but nobody may be reading that if `log.file` is set.
            if settings[SettingTable.logFile] != nil {
                let status = "\(failure.kind.rawValue)"
                log.critical("not started", metadata: ["reason": "\(failure)", "status": "\(status)"])
            }
            throw failure
        }
    }

    private static func run(_ loaded: LoadedSettings, output: LogOutput, log: Logger) async throws {
        let files = try ServerFiles(loaded)
        let settings = loaded.settings
        if files.lab == nil {
            try Self.refuseRoot()
            // With PostgreSQL, the database's clock is used instead.
            if settings[SettingTable.storeKind] == .sqlite {
                try StartClock(settings, statusList: files.statusList).check(at: SystemClock().now())
            }
        }
        let threads = settings[SettingTable.listenThreads]
        if threads > 0 { EventLoops.use(threads: threads) }
        for warning in files.certificateProblems { log.warning("certificate", metadata: ["reason": "\(warning)"]) }
        let connections = try OpenFileBudget(settings).connections(log: log)
        // The watch starts first and stops last, so that probes are answered while the server recovers and stops.
        let watch = try await ServerWatch.start(settings, connections: connections, output: output, log: log)
        do {
            try await Self.run(files, connections: connections, watch: watch, output: output, log: log)
        } catch {
            await watch.stop()
            throw error
        }
        await watch.stop()
        log.notice("stopped")
    }

    /// Refuses to run as root outside a lab.
    ///
    /// A server run as root leaves files owned by root behind, and the service then cannot start again. An attacker who
    /// takes over such a server also controls the machine.
    private static func refuseRoot() throws {
        guard Accounts.currentUser == 0 else { return }
        throw StartFailure(
            .notAllowed,
            "a production server does not run as root; run it as the owner of its files: sudo -u remote-pin "
                + "remote-pin-server serve …, or systemctl start remote-pin-server"
        )
    }

    private static func run(
        _ files: ServerFiles,
        connections: Int,
        watch: ServerWatch,
        output: LogOutput,
        log: Logger
    ) async throws {
        let store: any ServedStore =
            if let database = files.database {
                try await Self.openDatabase(database, files, watch: watch, log: log)
            } else {
                try await Self.openStore(files, metrics: watch.registry, log: log)
            }
        watch.watch(store)
        do {
            let epoch = try await Self.epoch(of: store, vault: files.vault)
            try await Self.checkVault(files, of: store)
            var backups = BackupHistory()
            let audit = try await Self.openAudit(files, of: store, epoch: epoch, metrics: watch.registry, log: log) {
                backups.read($0)
            }
            watch.watchAudit(files.settings[SettingTable.auditFile])
            do {
                let witness = try await Self.askWitness(
                    files.settings,
                    of: store,
                    log: log,
                    metrics: watch.registry
                )
                try await Self.serve(
                    files,
                    connections: connections,
                    from: store,
                    epoch: epoch,
                    audit: audit,
                    lastBackup: backups.lastMade,
                    witness: witness,
                    watch: watch,
                    output: output,
                    log: log
                )
            } catch {
                await audit.close()
                throw error
            }
            await Self.recordStop(in: audit, of: store, log: log)
            await audit.close()
        } catch {
            watch.forgetStore()
            await store.close()
            throw error
        }
        watch.forgetStore()
        await store.close()
    }

    private static func serve(
        _ files: ServerFiles,
        connections: Int,
        from store: any ServedStore,
        epoch: Int,
        audit: AuditLog,
        lastBackup: Timestamp?,
        witness: WitnessKeeper?,
        watch: ServerWatch,
        output: LogOutput,
        log: Logger
    ) async throws {
        let clock = try Self.clock(of: files.lab, store.lease)
        let hooks = Hooks.make(files.settings, clock: clock, log: log, metrics: watch.registry)
        let parts = RemotePINServer.Parts(
            rules: Self.rules(files.settings),
            clock: clock,
            store: store,
            lease: store.lease,
            vault: CountedVault(files.vault, metrics: watch.registry),
            attestations: files.attestations,
            statusList: files.statusList,
            audit: audit,
            log: log,
            receiptKeys: { [vault = files.vault] in vault.receiptKeys(upTo: $0) },
            metrics: watch.registry,
            onEvent: { hooks.report($0) }
        )
        let server = try await Self.server(of: parts, files.vault)
        watch.watch(server, tls: files.tls)
        let inForce = SettingsInForce(files)
        let listener = try await Self.listen(files, inForce, connections: connections, for: server, log: log)
        let admin = try await Self.listenForAdmin(files.settings, log: log)
        let portal = try await Self.listenForPortal(files.settings, log: log)
        watch.readiness.require { admin.isInPlace && portal?.isInPlace ?? true }
        let supervision = Supervision(
            files.settings,
            log: log,
            readinessDrops: { watch.readiness.drop() },
            endsOthers: { hooks.endAtOnce() }
        )
        let reloads = ReloadMeters(watch.registry, clock: clock)
        let reload: @Sendable () async -> [ReloadedPart] = {
            await supervision.reloading {
                let configuration = inForce.reload(log: log) { settings, changed in
                    Self.apply(settings, changed, to: server, listener, hooks, output: output)
                }
                var parts = [configuration] + (await Self.reload(files, of: server, output: output, log: log))
                parts += await Self.renew(admin, portal, files.settings, log: log)
                reloads.note(parts)
                return parts
            }
        }
        let maintenance = Maintenance(
            Maintenance.Parts(
                store: store,
                lease: store.lease,
                vault: files.vault,
                clock: clock,
                audit: audit,
                epoch: epoch,
                purgeAfter: files.settings[SettingTable.purgeAfter],
                tokenLifetime: files.settings[SettingTable.tokenLifetime],
                lastBackup: lastBackup,
                log: log
            )
        )
        watch.watch(maintenance)
        let commands = AdminService(
            of: server,
            advance: (clock as? LabClock).map(Self.advance),
            operations: Self.operations(files, maintenance, output: output, log: log, reload: reload),
            roles: try Self.adminRoles(files.settings)
        )
        // Connections are accepted, and their calls wait for the services below. A start that cannot listen leaves no
        // entry, since a service manager repeats it every few seconds.
        await Self.recordStart(files.settings, in: audit, of: store, log: log)
        // Trap signals before the server reports that it is ready, because a supervisor may send one right afterwards.
        let (hangups, stops) = (
            await UnixSignalsSequence(trapping: .sighup), await UnixSignalsSequence(trapping: .sigterm, .sigint)
        )
        // The group stops its services in reverse order: connections first, so that their last answers are sent.
        var services: [any Service] = [
            Running { for await _ in hangups.cancelOnGracefulShutdown() { _ = await reload() } },
            Running { await server.runTimers() },
            Running { await maintenance.run() },
            Running { await commands.serve(admin) },
        ]
        if let store = store as? PostgreSQLWalletStore {
            services.append(Running { await Self.followDatabase(store, watch.readiness, log: log) })
        } else {
            services.append(Running { await StartClock.renewSign(in: files.settings[SettingTable.dataFolder]) })
        }
        services.insert(Running { await Self.announceGenerations(of: store, audit, log: log) }, at: 0)
        // The witness stops after the services that write to the store, so that it learns of their last commits.
        if let witness { services.insert(Running { await witness.run() }, at: 0) }
        // Hooks stop last, so that they receive every event.
        services.insert(Running { await hooks.run() }, at: 0)
        if let portal { services.append(Running { await PortalCalls(of: server).serve(portal) }) }
        services.append(
            Running {
                let address = try Self.announce(listener, of: files, log: log)
                watch.readiness.begin()
                supervision.isReady(on: address)
                await server.serve(listener)
            }
        )
        try await supervision.run(services, stops, watch.liveness)
    }

    private static func output(_ settings: ServerSettings) throws -> LogOutput {
        try FileRights.checkLogFile(settings)
        return try explaining(.files, "`log.file` cannot be written") {
            try LogOutput(path: settings[SettingTable.logFile])
        }
    }

    private static func openStore(
        _ files: ServerFiles,
        metrics: MetricRegistry,
        log: Logger
    ) async throws -> SQLiteWalletStore {
        let key = try await Self.recordKey(by: files.vault)
        let lines = LogRateLimiter(burst: 3, each: .seconds(10))
        let folder = files.settings[SettingTable.dataFolder]
        let store = try Self.openStore(
            in: folder,
            key: key,
            receipts: files.vault.receiptSigner,
            metrics: metrics
        ) { reason in
            guard let metadata = lines.allow(["reason": "\(reason)"]) else { return }
            log.error("the store refused calls", metadata: metadata)
        } onFatal: { failure in
            // After a failed sync, a later one may succeed although a page was lost, so no further request may be
            // answered.
            log.critical("stopping at once", metadata: ["reason": "\(failure)"])
            ProcessEnd.atOnce(status: StartFailure.Kind(failure).rawValue)
        }
        if let from = store.upgradedFrom {
            log.notice(
                "the store was upgraded; an older server cannot open it",
                metadata: ["folder": "\(folder)", "from": "\(from)", "to": "\(SQLiteWalletStore.version)"]
            )
        }
        return store
    }

    /// Opens the store of a stopped server.
    static func openStore(of server: StoppedServer, acceptingDamage: Bool) async throws -> SQLiteWalletStore {
        try server.requireEmbeddedStore()
        let key = try await Self.recordKey(by: server.vault)
        return try Self.openStore(
            in: server.dataFolder,
            key: key,
            acceptingDamage: acceptingDamage,
            onFatal: Self.endCommand
        )
    }

    /// Opens a stopped server's embedded store to move it into a database.
    ///
    /// Also opens a store that was moved before.
    static func openStore(toMoveFrom folder: String, key: RecordKey) throws -> SQLiteWalletStore {
        try Self.openStore(in: folder, key: key, acceptingMoved: true, onFatal: Self.endCommand)
    }

    /// Ends the command after a file error that may have lost attempt counts.
    private static let endCommand: @Sendable (FatalStoreError) -> Never = { failure in
        StandardStreams.writeError("remote-pin-server: \(failure)\n")
        ProcessEnd.atOnce(status: StartFailure.Kind(failure).rawValue)
    }

    static func recordKey(by vault: any Vault) async throws -> RecordKey {
        do throws(VaultError) {
            return try await RecordKey.derived(by: vault)
        } catch {
            throw StartFailure(.unavailable, "the vault did not answer; without it no attempt record can be read")
        }
    }

    private static func openStore(
        in folder: String,
        key: RecordKey,
        acceptingDamage: Bool = false,
        acceptingMoved: Bool = false,
        receipts: (any ReceiptSigner)? = nil,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        onRefusal: @escaping @Sendable (String) -> Void = { _ in },
        onFatal: @escaping @Sendable (FatalStoreError) -> Never
    ) throws -> SQLiteWalletStore {
        do throws(StoreOpenError) {
            return try SQLiteWalletStore.open(
                folder: folder,
                key: key,
                acceptingDamage: acceptingDamage,
                acceptingMoved: acceptingMoved,
                receipts: receipts,
                metrics: metrics,
                onRefusal: onRefusal,
                onFatal: onFatal
            )
        } catch {
            let kind: StartFailure.Kind
            switch error {
            case .inUse: kind = .unavailable
            case .damaged, .notAStore, .backup, .moved, .otherSchema, .foreignFile: kind = .operatorMustAct
            case .newerVersion, .missing, .diskFull, .files: kind = .files
            }
            throw StartFailure(kind, "the store in \(folder) cannot be used: \(error)")
        }
    }

    private static func advance(_ clock: LabClock) -> AdminService.Advance {
        { duration throws(AdminFailure) in
            try mapError(clock.advance(by: duration)) { (error: LabError) in
                AdminFailure(.unavailable, "The clock was not moved: \(error).")
            }
        }
    }
}

extension StartFailure.Kind {
    /// The exit status for a failure of the store's files.
    ///
    /// After a full disk, the service manager restarts the server.
    fileprivate init(_ failure: FatalStoreError) { self = failure.isDiskFull ? .files : .operatorMustAct }
}

/// Runs one part of the server as a service.
private struct Running: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await self.body() }
}
