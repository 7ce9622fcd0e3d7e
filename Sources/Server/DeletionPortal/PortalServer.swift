package import ConfigText
internal import Foundation
internal import HostSystem
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
package import Metrics
internal import NIOCore
internal import NIOHTTP1
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

/// An HTTP/1 connection with the rules of RFC 9110 and RFC 9112 that Hummingbird leaves to its user.
struct PortalHTTPChannel: ServerChildChannel {
    private let http: HTTP1Channel

    init(responder: @escaping HTTPChannelHandler.Responder, configuration: HTTP1Channel.Configuration) {
        self.http = HTTP1Channel(
            responder: { request, writer, channel in
                if let status = Self.refusal(of: request) {
                    let headers: HTTPFields = [.connection: "close", .contentLength: "0"]
                    try await writer.writeResponse(HTTPResponse(status: status, headerFields: headers))
                    // A body stays unread, so it needs no time limit.
                    return channel.close(promise: nil)
                }
                if Self.expectsInterim(request) {
                    try await writer.writeInformationalHead(HTTPResponse(status: .continue))
                }
                try await responder(request, writer, channel)
            },
            configuration: configuration
        )
    }

    /// Returns the status of a request that is not answered with a page, or nil for all others.
    private static func refusal(of request: Request) -> HTTPResponse.Status? {
        // RFC 9112 §3.2: exactly one Host field, with a valid value. The first one became the request's authority.
        guard let host = request.head.authority, HostField.isValid(host),
            request.headers.values(of: "host").isEmpty
        else { return .badRequest }
        let byteCount = request.headers[.contentLength].map { Int($0) ?? .max } ?? 0
        return Self.expectsInterim(request) && byteCount > FormFields.longestByteCount ? .contentTooLarge : nil
    }

    /// Returns whether the client waits for an interim response before it sends the body (RFC 9110 §10.1.1).
    private static func expectsInterim(_ request: Request) -> Bool {
        request.headers.values(of: "expect").contains { $0.lowercased() == "100-continue" }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        self.http.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(OldRequestHandler(), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await self.http.handle(value: value, logger: logger)
    }
}

/// Changes HTTP/1.0 requests to HTTP/1.1 requests with the same meaning, because the later handlers do not learn the
/// version.
private final class OldRequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = self.unwrapInboundIn(data), head.version.minor < 1 else {
            return context.fireChannelRead(data)
        }
        // Such a request needs no Host, expects nothing, and ends the connection unless it says otherwise.
        if !head.headers.contains(name: "Host") { head.headers.add(name: "Host", value: "") }
        head.headers.remove(name: "Expect")
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "Connection", value: "close") }
        context.fireChannelRead(self.wrapInboundOut(.head(head)))
    }
}
