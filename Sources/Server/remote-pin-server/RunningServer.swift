internal import Administration
internal import AdminProtocol
internal import AuditLog
internal import HostSystem
internal import LabFiles
internal import Telemetry
internal import Logging
internal import OperatorChannels
internal import RemotePINServer
internal import ServerSettings
internal import MetricsEndpoint
internal import PostgreSQLStore
internal import ServiceLifecycle
internal import StoreMaintenance
internal import Transport
internal import UnixSignals
internal import Vault
internal import Vocabulary
internal import WalletStore

/// A server from its start to its stop: the composition root.
///
/// The properties stand in the order in which they open, cheap checks first.
struct RunningServer: Sendable {
    private let output: LogOutput
    private let log: Logger
    private let files: ServerFiles
    private let watch: ServerWatch
    private let store: any ServedStore
    private let audit: AuditLog
    /// Nil if none is configured.
    private let witness: WitnessKeeper?
    private let hooks: EventHooks
    private let server: RemotePINServer
    private let listeners: Listeners
    private let supervision: Supervision
    private let reloading: Reloading
    private let maintenance: Maintenance
    private let commands: AdminService

    /// Opens a server, serves until a signal stops it, and closes it.
    static func run(_ loaded: LoadedSettings, isDrill: Bool) async throws {
        let settings = loaded.settings
        try FileRights.checkLogFile(settings)
        let output = try explaining(.files, "`log.file` cannot be written") {
            try LogOutput(path: settings[SettingTable.logFile])
        }
        let handler = output.handler(
            settings[SettingTable.logFormat],
            level: Logger.Level(settings[SettingTable.logLevel])
        )
        let log = Logger(label: "remote-pin-server") { _ in handler }
        var opened = OpenParts()
        do {
            try Drill.check(settings, isDrill: isDrill)
            try await RunningServer(opening: loaded, output, log, noting: &opened).serve()
        } catch {
            await opened.close()
            // The reason is also written to standard error, which may be discarded if `log.file` is set.
            if let failure = error as? StartFailure, settings[SettingTable.logFile] != nil {
                let status = "\(failure.kind.rawValue)"
                log.critical("not started", metadata: ["reason": "\(failure)", "status": "\(status)"])
            }
            throw error
        }
        await opened.close()
        log.notice("stopped")
    }

    // MARK: - Opening

    /// Opens the parts, one after another.
    ///
    /// - Parameter opened: Receives each part that must be closed, even if a later one cannot be opened.
    private init(
        opening loaded: LoadedSettings,
        _ output: LogOutput,
        _ log: Logger,
        noting opened: inout OpenParts
    ) async throws {
        (self.output, self.log) = (output, log)
        // Before the files, because a vault in a module is reached over an event loop.
        let threads = loaded.settings[SettingTable.listenThreads]
        if threads > 0 { EventLoops.use(threads: threads) }
        let files = try await ServerFiles(loaded, patience: .seconds(60))
        self.files = files
        let settings = files.settings
        try Self.checkMachine(for: files)
        for warning in files.certificateProblems { log.warning("certificate", metadata: ["reason": "\(warning)"]) }
        let connections = try OpenFileBudget(settings).connections(log: log)

        let watch = try await ServerWatch.start(settings, connections: connections, output: output, log: log)
        (self.watch, opened.watch) = (watch, watch)

        let store = try await Self.openStore(files, watch, log)
        (self.store, opened.store) = (store, store)
        watch.watch(store)
        let epoch = try await StoreChecks.epoch(of: store, vault: files.vault)
        let clock = try LabBoundary.clock(of: files.lab, store.lease)
        try await StoreChecks.checkVault(files, of: store, at: clock.now())

        var backups = BackupHistory()
        self.audit = try await AuditAtStart(
            files: files,
            store: store,
            clock: clock,
            epoch: epoch,
            metrics: watch.registry,
            log: log
        ).open { backups.read($0) }
        opened.audit = self.audit
        watch.watchAudit(settings[SettingTable.auditFile])

        self.witness = try await WitnessKeeper.started(settings, of: store, log: log, metrics: watch.registry)

        let hooks = EventHooks(settings, clock: clock, log: log, metrics: watch.registry)
        self.hooks = hooks

        self.server = try await RemotePINServer.started(
            RemotePINServer.Parts(
                rules: ServiceRules(settings),
                clock: clock,
                store: store,
                lease: store.lease,
                vault: files.vault,
                attestations: files.attestations,
                statusList: files.statusList,
                audit: self.audit,
                log: log,
                receiptKeys: { [vault = files.vault] in vault.receiptKeys(upTo: $0) },
                metrics: watch.registry,
                onEvent: { hooks.report($0) }
            )
        )
        watch.watch(self.server, tls: files.tls)

        let inForce = SettingsInForce(files)
        // Connections are accepted, and their calls wait for the services.
        let listeners = try await Listeners(files, inForce, connections: connections, for: self.server, log: log)
        self.listeners = listeners
        watch.readiness.require { [vault = files.vault] in
            listeners.areInPlace ? vault.problem.map { _ in .vaultSilent } : .unreachable
        }
        watch.watch(files.vault, log: log)

        self.supervision = Supervision(
            settings,
            log: log,
            readinessDrops: { watch.readiness.drop() },
            endsOthers: { hooks.endAtOnce() }
        )
        let reloading = Reloading(
            files: files,
            inForce: inForce,
            server: self.server,
            listeners: listeners,
            hooks: hooks,
            supervision: self.supervision,
            meters: ReloadMeters(watch.registry, clock: clock),
            output: output,
            log: log
        )
        self.reloading = reloading

        self.maintenance = Maintenance(
            Maintenance.Parts(
                store: store,
                lease: store.lease,
                vault: files.vault,
                clock: clock,
                audit: self.audit,
                epoch: epoch,
                purgeAfter: settings[SettingTable.purgeAfter],
                tokenLifetime: settings[SettingTable.tokenLifetime],
                sessionLifetime: settings[SettingTable.sessionLifetime],
                lastBackup: backups.lastMade,
                log: log
            )
        )
        watch.watch(self.maintenance)

        self.commands = AdminService(
            of: self.server,
            advance: (clock as? LabClock).map(Self.advance),
            operations: ServerOperations(
                version: BuildID.git.map { "\(Version.number) (git \($0))" } ?? Version.number,
                reload: { await reloading.run() },
                logLevel: { output.setLevel($0, log: log) },
                certificateExpiry: { files.tls.certificateExpiry },
                keyVersions: { (files.vault.versions, files.vault.activeVersion) },
                maintenance: self.maintenance
            ),
            roles: try AdminRoles(settings)
        )
    }

    /// Rejects root and an implausible clock in production.
    ///
    /// A server run as root leaves files owned by root behind, and the service then cannot start again. An attacker who
    /// takes over such a server also controls the machine.
    private static func checkMachine(for files: ServerFiles) throws {
        guard files.lab == nil else { return }
        guard Accounts.currentUser != 0 else {
            throw StartFailure(
                .notAllowed,
                "a production server does not run as root; run it as the owner of its files: sudo -u remote-pin "
                    + "remote-pin-server serve …, or systemctl start remote-pin-server"
            )
        }
        // With PostgreSQL, the database's clock is used instead.
        guard files.settings[SettingTable.storeKind] == .sqlite else { return }
        try StartClock(files.settings, statusList: files.statusList).check(at: SystemClock().now())
    }

    private static func openStore(
        _ files: ServerFiles,
        _ watch: ServerWatch,
        _ log: Logger
    ) async throws -> any ServedStore {
        guard let database = files.database else {
            let store = EmbeddedStore(
                folder: files.settings[SettingTable.dataFolder],
                key: RecordKey.derived(by: files.vault)
            )
            return try store.openToServe(receipts: files.vault.receiptSigner, metrics: watch.registry, log: log)
        }
        return try await DatabaseAtStart(database: database, files: files, watch: watch, log: log).open()
    }

    private static func advance(_ clock: LabClock) -> AdminService.Advance {
        { duration throws(AdminFailure) in
            try mapError(clock.advance(by: duration)) { (error: LabError) in
                AdminFailure(.unavailable, "The clock was not moved: \(error).")
            }
        }
    }

    // MARK: - Serving

    /// Serves wallets until a signal stops the services.
    private func serve() async throws {
        let records = ServerRecords(audit: self.audit, store: self.store, log: self.log)
        // A start that cannot listen leaves no entry, since a service manager repeats it every few seconds.
        await records.recordStart(self.files.settings)
        // Trap signals before the server reports that it is ready, because a supervisor may send one right afterwards.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let stops = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let services = self.services(records, hangups)
        try await self.supervision.run(services, stops, self.watch.liveness)
        await records.recordStop()
    }

    /// Returns the services in the order in which they start, which is the reverse of the order in which they stop.
    private func services(_ records: ServerRecords, _ hangups: UnixSignalsSequence) -> [any Service] {
        var services: [any Service] = []
        func add(_ body: @escaping @Sendable () async throws -> Void) { services.append(Running(body: body)) }
        // Hooks stop last, so that they receive every event.
        add { await self.hooks.run() }
        // The witness stops after the services that write to the store, so that it learns of their last commits.
        if let witness { add { await witness.run() } }
        add { await records.announceGenerations() }
        add { for await _ in hangups.cancelOnGracefulShutdown() { _ = await self.reloading.run() } }
        add { await self.server.runTimers() }
        add { await self.maintenance.run() }
        add { await self.commands.serve(self.listeners.admin.listener) }
        if let database = self.store as? PostgreSQLWalletStore {
            add { await self.watch.readiness.follow(database, log: self.log) }
        } else {
            add { await StartClock.renewSign(in: self.files.settings[SettingTable.dataFolder]) }
        }
        if let portal = self.listeners.portal { add { await PortalCalls(of: self.server).serve(portal.listener) } }
        // Wallets' connections stop first, so that their last answers are sent.
        add { try await self.serveWallets() }
        return services
    }

    private func serveWallets() async throws {
        let address = try self.listeners.announce()
        self.watch.readiness.begin()
        self.supervision.isReady(on: address)
        await self.server.serve(self.listeners.wallets)
    }
}

/// The parts of a server that must be closed, as far as they are open.
///
/// The others end with their services, or with the process if it does not start.
private struct OpenParts {
    var watch: ServerWatch?
    var store: (any ServedStore)?
    var audit: AuditLog?

    /// Closes the parts in the reverse order of their opening.
    func close() async {
        await self.audit?.close()
        if let store {
            self.watch?.forgetStore()
            await store.close()
        }
        // The watch starts first and stops last, so that probes are answered while the server recovers and stops.
        await self.watch?.stop()
    }
}

/// One part of the server, run as a service.
private struct Running: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await self.body() }
}
