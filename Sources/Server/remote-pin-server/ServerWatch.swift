internal import AuditLog
internal import ConfigText
internal import Telemetry
internal import Logging
internal import Metrics
internal import NIOPosix
internal import RemotePINServer
internal import ServerSettings
internal import MetricsEndpoint
internal import StoreMaintenance
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore

/// Metrics and probes for this process.
///
/// Starts before the store is opened and stops after it is closed, so that probes are answered while the server
/// recovers and while it stops.
struct ServerWatch: Sendable {
    let registry: MetricRegistry
    let readiness = Readiness()
    let liveness = Liveness()
    private let listener: ObservationListener?

    /// Starts listening on `observation.listen`, if set, and registers with swift-metrics.
    ///
    /// - Parameter connections: The connection limit in effect.
    static func start(
        _ settings: ServerSettings,
        connections: Int,
        output: LogOutput,
        log: Logger
    ) async throws -> ServerWatch {
        let registry = MetricRegistry { name, fault in
            log.warning("a metric is not exposed", metadata: ["metric": "\(name)", "fault": "\(fault.rawValue)"])
        }
        registry.probe("remote_pin_log_lines_dropped_total") { Double(output.droppedCount) }
        MetricsSystem.bootstrap(registry)
        return try await ServerWatch(registry, settings, connections: connections, log: log)
    }

    private init(_ registry: MetricRegistry, _ settings: ServerSettings, connections: Int, log: Logger) async throws {
        self.registry = registry
        self.liveness.watch("event loops", MultiThreadedEventLoopGroup.singleton)
        registry.watchProcess()
        registry.probe("remote_pin_build_info", [("version", Version.number)]) { 1 }
        let readiness = self.readiness
        registry.probe("remote_pin_ready") { readiness.isReady ? 1 : 0 }
        // Limits are exported so that alerts can compare against them and need no change when a setting changes.
        for (name, limit) in [
            ("connections", connections), ("handshakes", settings[SettingTable.handshakes]),
        ] {
            registry.probe("remote_pin_limit", [("limit", name)]) { Double(limit) }
        }
        guard var address = settings[SettingTable.observationListen] else {
            self.listener = nil
            return
        }
        do throws(ObservationListenError) {
            let answers = ObservationSources(registry: registry, liveness: self.liveness, readiness: self.readiness)
            let listener = try await ObservationListener.bind(host: address.host, port: address.port, answers: answers)
            self.listener = listener
            address.port = listener.port
        } catch {
            throw StartFailure(.unavailable, "`observation.listen`: cannot listen on \(address): \(error.reason)")
        }
        log.notice("observed", metadata: ["address": "\(address)"])
    }

    /// Watches the open store.
    ///
    /// If the database does not respond, the server becomes unready but stays alive, because a restart would not help.
    func watch(_ store: any ServedStore) {
        if let store = store as? SQLiteWalletStore {
            self.liveness.watch(Self.storeThread) {
                await store.answers()
                return true
            }
            self.registry.probe("remote_pin_store_generation") { [weak store] in store.map { Double($0.generation) } }
        }
        if let lease = store.lease {
            self.registry.probe("remote_pin_lease_age_seconds") { [weak lease] in
                lease.map { $0.age / .seconds(1) }
            }
            self.registry.probe("remote_pin_database_clock_difference_seconds") { [weak lease] in
                lease.map { $0.clockDifference / .seconds(1) }
            }
            self.registry.probe("remote_pin_lease_held") { [weak lease] in lease.map { $0.isHeld ? 1 : 0 } }
            self.registry.probe("remote_pin_servers_live") { [weak lease] in lease.map { Double($0.servers.count) } }
        }
        self.registry.probe("remote_pin_store_queue_steps") { [weak store] in store.map { Double($0.waitingSteps) } }
    }

    /// Stops watching the store, which is about to close and will no longer answer.
    func forgetStore() { self.liveness.forget(Self.storeThread) }

    private static let storeThread = "store"

    /// Exports the results of checking the attempt records.
    func watch(_ maintenance: Maintenance) {
        self.registry.probe("remote_pin_store_damage") { Double(maintenance.damageCount) }
        self.registry.probe("remote_pin_backup_timestamp_seconds") { maintenance.lastBackup?.seconds }
    }

    /// Exports the time at which the audit log was last verified.
    func watchAudit(_ path: String) {
        self.registry.probe("remote_pin_audit_verified_timestamp_seconds") {
            AuditLog.lastVerification(of: path)?.seconds
        }
    }

    /// Exports and logs whether the module with the vault's keys can be used, if one is set.
    func watch(_ vault: KeyFileVault, log: Logger) {
        guard let module = vault.module else { return }
        module.onChange { problem in
            guard let problem else { return log.notice("the vault's module can be used again") }
            log.error("the vault's module cannot be used; no session opens", metadata: ["reason": "\(problem)"])
        }
        self.registry.probe("remote_pin_vault_reachable") { vault.problem == nil ? 1 : 0 }
    }

    /// Exports metrics about the server and its certificate.
    func watch(_ server: RemotePINServer, tls: TLSServerContext) {
        func figure(
            _ name: String,
            _ labels: [(String, String)] = [],
            _ value: @escaping @Sendable (ServerFigures) -> Double?
        ) {
            self.registry.probe(name, labels) { value(server.figures) }
        }
        figure("remote_pin_connections") { Double($0.connections) }
        figure("remote_pin_sessions") { Double($0.sessions) }
        let verdicts = "remote_pin_pin_verdicts_total"
        figure(verdicts, [("verdict", "valid")]) { Double($0.validPINs) }
        figure(verdicts, [("verdict", "wrong")]) { Double($0.wrongPINs) }
        figure(verdicts, [("verdict", "blocked")]) { Double($0.blockedPINs) }
        figure(verdicts, [("verdict", "blocked_permanently")]) { Double($0.permanentlyBlockedPINs) }
        figure("remote_pin_status_list_fetched_timestamp_seconds") { $0.statusListFetched?.seconds }
        figure("remote_pin_status_list_expiry_timestamp_seconds") { $0.statusListExpiry?.seconds }
        figure("remote_pin_audit_entries_total") { Double($0.auditEntries) }
        self.registry.probe("remote_pin_certificate_expiry_timestamp_seconds") { tls.certificateExpiry?.seconds }
    }

    /// Closes the listener.
    ///
    /// Must be called last.
    func stop() async {
        self.readiness.drop()
        await self.listener?.close()
    }
}

extension Timestamp {
    /// The Unix time in seconds, as used by Prometheus.
    fileprivate var seconds: Double { Double(self.milliseconds) / 1000 }
}
