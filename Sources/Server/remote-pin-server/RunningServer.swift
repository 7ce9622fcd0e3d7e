internal import AuditLog
internal import Foundation
internal import Lab
internal import LogLines
internal import Logging
internal import RemotePINServer
internal import ServerObservation
internal import ServerSettings
internal import ServiceLifecycle
internal import HostSystem
internal import Transport
internal import UnixSignals
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

/// The program's composition root: opens what the configuration names, in the order in which failure is cheapest, and
/// runs it until it is told to stop.
enum RunningServer {
    /// How long a stop waits for calls that are being answered.
    private static let patience: Duration = .seconds(15)

    static func run(_ loaded: LoadedSettings) async throws {
        let files = try ServerFiles(loaded)
        let settings = loaded.settings
        let threads = settings[SettingTable.listenThreads]
        if threads > 0 { EventLoops.use(threads: threads) }
        let output = try Self.output(settings)
        let handler = output.handler(
            settings[SettingTable.logFormat],
            level: Logger.Level(settings[SettingTable.logLevel])
        )
        let log = Logger(label: "remote-pin-server") { _ in handler }
        // First and last: whoever watches the server is answered also while it recovers and stops.
        let watch = try await ServerWatch.start(settings, log: log)
        do {
            try await Self.run(files, watch: watch, output: output, log: log)
        } catch {
            await watch.stop()
            throw error
        }
        await watch.stop()
        log.notice("stopped")
    }

    private static func run(_ files: ServerFiles, watch: ServerWatch, output: LogOutput, log: Logger) async throws {
        let store = try Self.openStore(files.settings, metrics: watch.registry, log: log)
        watch.watch(store)
        do {
            let audit = try await Self.openAudit(files, metrics: watch.registry, log: log)
            do {
                try await Self.serve(files, from: store, audit: audit, watch: watch, output: output, log: log)
            } catch {
                await audit.close()
                throw error
            }
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
        from store: SQLiteWalletStore,
        audit: AuditLog,
        watch: ServerWatch,
        output: LogOutput,
        log: Logger
    ) async throws {
        let clock = try Self.clock(of: files.lab)
        let server = try await Self.server(
            of: files,
            clock: clock,
            store: store,
            audit: audit,
            metrics: watch.registry,
            log: log
        )
        watch.watch(server, tls: files.tls)
        let listener = try await Self.listen(files, metrics: watch.registry, log: log)
        let admin = try await Self.listenForAdmin(files.settings)
        let portal = try await Self.listenForPortal(files.settings)
        let reload: @Sendable () async -> [ReloadedPart] = {
            await Self.reload(files, of: server, output: output, log: log)
        }
        let commands = AdminCommands(
            of: server,
            advance: (clock as? LabClock).map(Self.advance),
            operations: Self.operations(files, output: output, log: log, reload: reload)
        )
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        // The group stops them in reverse order: connections first, so that their last answers still leave.
        var services: [any Service] = [
            Running { for await _ in hangups.cancelOnGracefulShutdown() { _ = await reload() } },
            Running { await server.runTimers() },
            Running { await commands.serve(admin) },
        ]
        if let portal { services.append(Running { await PortalCalls(of: server).serve(portal) }) }
        services.append(
            Running {
                // Only here are the signals caught: whoever reads that it is ready may send one at once.
                try Self.announce(listener, of: files, log: log)
                watch.readiness.begin()
                await server.serve(listener)
            }
        )
        // Stopped before all others: whoever sends wallets here learns first that they should go elsewhere.
        services.append(
            Running {
                try? await gracefulShutdown()
                watch.readiness.drop()
            }
        )
        var configuration = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.maximumGracefulShutdownDuration = Self.patience
        try await ServiceGroup(configuration: configuration).run()
    }

    private static func server(
        of files: ServerFiles,
        clock: any WallClock,
        store: SQLiteWalletStore,
        audit: AuditLog,
        metrics: MetricRegistry,
        log: Logger
    ) async throws -> RemotePINServer {
        let parts = RemotePINServer.Parts(
            rules: Self.rules(files.settings),
            clock: clock,
            store: store,
            vault: CountedVault(files.vault, metrics: metrics),
            attestations: files.attestations,
            statusList: files.statusList,
            audit: audit,
            log: log,
            metrics: metrics
        )
        do throws(ServerStartError) {
            return try await RemotePINServer(parts)
        } catch {
            switch error {
            case .vault: throw StartFailure(.configuration, "the vault does not work; is `vault.key-file` its own?")
            case .store(.unavailable): throw StartFailure(.files, "the store cannot be read; is its disk full?")
            case .store(.corrupt):
                throw StartFailure(.files, "what operators have set cannot be read from the store")
            }
        }
    }

    private static func output(_ settings: ServerSettings) throws -> LogOutput {
        try explaining(.files, "`log.file` cannot be written") { try LogOutput(path: settings[SettingTable.logFile]) }
    }

    private static func openStore(
        _ settings: ServerSettings,
        metrics: MetricRegistry,
        log: Logger
    ) throws -> SQLiteWalletStore {
        let folder = settings[SettingTable.dataFolder]
        do throws(StoreOpenError) {
            return try SQLiteWalletStore.open(folder: folder, metrics: metrics) { reason in
                // After a failed sync a later one may succeed without the lost page: nothing may be answered any more.
                log.critical("stopping at once", metadata: ["reason": "\(reason)"])
                exit(70)
            }
        } catch {
            let kind: StartFailure.Kind
            switch error {
            case .inUse: kind = .unavailable
            case .newerVersion, .missing, .notAStore, .diskFull, .files: kind = .files
            }
            throw StartFailure(kind, "the store in \(folder) cannot be used: \(error)")
        }
    }

    static func clock(of lab: LabFolder?) throws -> any WallClock {
        guard let lab else { return SystemClock() }
        return try explaining(.files, "the lab's clock cannot be used") { try LabClock(file: lab.clockFile) }
    }

    private static func advance(_ clock: LabClock) -> AdminCommands.Advance {
        { duration throws(AdminFailure) in
            do throws(LabError) {
                return try clock.advance(by: duration)
            } catch {
                throw AdminFailure(.unavailable, "The clock was not moved: \(error).")
            }
        }
    }

    private static func rules(_ settings: ServerSettings) -> ServiceRules {
        ServiceRules(
            attempts: settings.attemptPolicy,
            offersDeletionCode: settings[SettingTable.deletionCode],
            updates: UpdatePolicy(
                android: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.androidMinimumVersion],
                    notify: settings[SettingTable.androidNotifyVersion]
                ),
                iOS: UpdatePolicy.Versions(
                    minimum: settings[SettingTable.iosMinimumVersion],
                    notify: settings[SettingTable.iosNotifyVersion]
                )
            ),
            sessionLifetime: settings[SettingTable.sessionLifetime],
            tokenLifetime: settings[SettingTable.tokenLifetime],
            unopenedLifetime: settings[SettingTable.unopenedLifetime],
            maxInFlight: TransportLimits().maxInFlight
        )
    }
}

/// A part of the server as a service.
private struct Running: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws { try await self.body() }
}
