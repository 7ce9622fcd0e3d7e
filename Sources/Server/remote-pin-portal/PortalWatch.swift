internal import ConfigText
internal import HostSystem
internal import Telemetry
internal import Logging
internal import Synchronization
internal import MetricsEndpoint

/// The portal's metrics and probes.
///
/// They have a separate listener, because the proxy makes the page public.
final class PortalWatch: Sendable {
    let registry: MetricRegistry
    private let reachesServer = Atomic(false)
    /// The interval at which to check whether a server answers.
    private static let interval: Duration = .seconds(5)

    init(output: LogOutput, log: Logger) {
        self.registry = MetricRegistry { name, fault in
            log.warning("a metric is not exposed", metadata: ["metric": "\(name)", "fault": "\(fault.rawValue)"])
        }
        self.registry.watchProcess()
        self.registry.probe("remote_pin_log_lines_dropped_total") { Double(output.droppedCount) }
        self.registry.probe("remote_pin_build_info", [("version", BuildID.version)]) { 1 }
        self.registry.probe("remote_pin_portal_ready") { [weak self] in
            self.map { $0.reachesServer.load(ordering: .relaxed) ? 1 : 0 }
        }
    }

    /// Listens on `portal.observation`; returns nil if it is not set.
    func listen(_ address: HostAndPort?) async throws(ObservationListenError) -> ObservationListener? {
        guard let address else { return nil }
        let answers = ObservationSources(
            metrics: { Exposition.text(of: self.registry) },
            failures: { [] },
            readiness: { self.reachesServer.load(ordering: .relaxed) ? .ready : .starting }
        )
        return try await ObservationListener.bind(host: address.host, port: address.port, answers: answers)
    }

    /// Checks regularly whether a server answers, until cancelled.
    func follow(_ check: @Sendable () async -> Bool) async {
        repeat {
            self.reachesServer.store(await check(), ordering: .relaxed)
        } while (try? await Task.sleep(for: Self.interval)) != nil
    }
}
