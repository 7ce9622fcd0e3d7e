package import ConfigText
internal import Foundation
internal import HostSystem
internal import Hummingbird
internal import HummingbirdCore
package import Logging
package import Metrics
internal import NIOCore
package import ServerSettings
internal import ServiceLifecycle
internal import Synchronization
internal import Transport
internal import UnixSignals
package import Vocabulary

/// The deletion portal.
///
/// It serves a single page over plain HTTP, behind a proxy that terminates TLS.
package struct PortalServer: Sendable {
    /// Limits on the number of connections and on timeouts.
    struct Limits: Sendable {
        /// The timeout for an idle connection and for a request header.
        var idle: Duration = .seconds(15)
        /// The timeout for a request's body.
        var body: Duration = .seconds(10)
        /// The maximum number of concurrent connections.
        ///
        /// Any more wait to be accepted.
        var connections = 512
        /// The time that a shutdown waits for pending answers.
        var farewell = PortalServer.farewell
    }

    /// The time that a shutdown waits for pending answers.
    package static let farewell: Duration = .seconds(25)

    private let address: HostAndPort
    /// The path of the server's socket.
    private let socket: String?
    private let responder: PortalResponder
    private let limits: Limits
    private let log: Logger

    /// - Parameters:
    ///   - settings: The server settings, of which only `portal` and `log` are used. `portal.socket` must be set.
    /// - Throws: ``PortalStartError`` if a setting cannot be used.
    package init(
        _ settings: ServerSettings,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) throws {
        guard let socket = settings[SettingTable.portalSocket] else { throw PortalStartError.noSocket }
        let service = ServerRevocationService(path: socket)
        try self.init(settings, service: service, clock: clock, log: log, metrics: metrics)
    }

    /// Returns whether a server accepts connections from the portal.
    ///
    /// Without a server, no code can be checked.
    package func reachesServer() async -> Bool {
        guard let socket else { return false }
        do throws(ConnectError) {
            try await PortalConnection.connect(path: socket, timeout: .seconds(5)).close()
            return true
        } catch {
            return false
        }
    }

    init(
        _ settings: ServerSettings,
        service: any RevocationService,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance,
        limits: Limits = Limits()
    ) throws {
        guard let zone = TimeZone(identifier: settings[SettingTable.portalTimeZone]) else {
            throw PortalStartError.timeZone
        }
        let pages = try PageWriter(
            product: settings[SettingTable.portalProduct],
            zone: zone,
            helpLink: settings[SettingTable.portalHelpLink]
        )
        self.address = settings[SettingTable.portalListen]
        self.socket = settings[SettingTable.portalSocket]
        self.responder = PortalResponder(
            portal: Portal(pages: pages, service: service, clock: clock, log: log, meters: PortalMeters(metrics)),
            sources: ClientSource(trusting: settings[SettingTable.portalTrustedProxies]),
            bodyLimit: TimeAmount(limits.body)
        )
        self.limits = limits
        self.log = log
    }

    /// Creates the application, for a service group or a test.
    func application(
        onServerRunning: @escaping @Sendable (any Channel) async -> Void = { _ in }
    ) -> Application<PortalResponder> {
        var quiet = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
        quiet.logLevel = .critical
        let configuration = HTTP1Channel.Configuration(
            idleTimeout: TimeAmount(self.limits.idle),
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: 8 * 1024,
                maxHeaderListSize: 16 * 1024,
                maxHeaderFieldCount: 100
            )
        )
        return Application(
            responder: self.responder,
            server: HTTPServerBuilder { PortalHTTPChannel(responder: $0, configuration: configuration) },
            configuration: ApplicationConfiguration(
                address: .hostname(ListenAddress.host(self.address.host), port: self.address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(self.limits.connections)
            ),
            onServerRunning: onServerRunning,
            logger: quiet
        )
    }

    /// Serves requests until SIGTERM or SIGINT.
    ///
    /// Then sends the pending answers and returns.
    ///
    /// - Parameter ready: Called with the address once clients can connect.
    package func run(ready: @escaping @Sendable (HostAndPort) -> Void) async throws {
        let (address, isReady) = (self.address, Ready())
        let application = self.application { channel in
            isReady.set()
            ready(HostAndPort(host: address.host, port: channel.localAddress?.port ?? address.port))
        }
        var configuration = ServiceGroupConfiguration(
            services: [application],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: Logger(label: "lifecycle") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.maximumGracefulShutdownDuration = self.limits.farewell
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch let error as IOError where !isReady.value {
            throw PortalStartError.listening(address, errno: error.errnoCode)
        }
    }

    /// Records that the server has started listening, to distinguish a failed start from a later error.
    private final class Ready: Sendable {
        private let state = Mutex(false)
        var value: Bool { self.state.withLock { $0 } }
        func set() { self.state.withLock { $0 = true } }
    }
}

/// A reason why the portal did not start.
///
/// Correct the configuration.
package enum PortalStartError: Error, Hashable, Sendable {
    /// `portal.socket` is not set.
    case noSocket
    /// The system's time zone database does not contain `portal.time-zone`.
    case timeZone
    /// Listening on `portal.listen` failed.
    case listening(HostAndPort, errno: Int32)
}
