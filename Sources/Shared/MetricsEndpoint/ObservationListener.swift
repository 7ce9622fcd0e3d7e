internal import HostSystem
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The HTTP listener for monitoring systems.
///
/// It only serves `/metrics`, `/livez` and `/readyz`.
///
/// It runs on a separate thread, so that it does not take an event loop away from wallets and can check whether the
/// event loops are alive. It is intended for a private address, but its limits are also sufficient for a public one.
/// When the connection limit is reached, the oldest connection is closed, so that slow clients cannot lock out a probe.
package final class ObservationListener: Sendable {
    /// Limits for each connection, and for the number of connections.
    package struct Limits: Hashable, Sendable {
        /// The maximum lifetime of a connection, whether or not it is active.
        package var connection: Duration = .seconds(10)
        /// The maximum size of a request in bytes.
        package var request = 8 * 1024
        /// The maximum number of open connections.
        package var connections = 32

        package init() {}
    }

    /// The actual port, even if port 0 was requested.
    package let port: Int

    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    private init(_ channel: any Channel, group: MultiThreadedEventLoopGroup, port: Int) {
        self.channel = channel
        self.group = group
        self.port = port
    }

    /// Binds to an address and serves requests until ``close()`` is called.
    package static func bind(
        host: String,
        port: Int,
        limits: Limits = Limits(),
        answers: ObservationSources
    ) async throws(ObservationListenError) -> ObservationListener {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let visitors = OpenConnections(limit: limits.connections)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    visitors.enter(channel)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(RequestByteLimit(limits.request))
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
                    try pipeline.addHandler(HTTPResponseEncoder())
                    try pipeline.addHandler(
                        ObservationHandler(answers, limit: TimeAmount(limits.connection))
                    )
                }
            }
        do {
            let channel = try await bootstrap.bind(host: ListenAddress.host(host), port: port).get()
            return ObservationListener(channel, group: group, port: channel.localAddress?.port ?? port)
        } catch {
            try? await group.shutdownGracefully()
            let code = (error as? IOError)?.errnoCode
            throw ObservationListenError(reason: code.map(ListenAddress.reason) ?? "\(error)")
        }
    }

    /// Closes the listener and all connections, and stops the thread.
    ///
    /// May only be called once.
    package func close() async {
        try? await self.channel.close()
        try? await self.group.shutdownGracefully()
    }
}

/// An error from binding the listener to its address.
///
/// To fix it, change `observation.listen`.
package struct ObservationListenError: Error, Hashable, Sendable {
    /// The reason in plain words, with the errno(3).
    package let reason: String
}

/// The open connections, starting with the oldest.
private final class OpenConnections: Sendable {
    private let limit: Int
    private let channels = Mutex<[any Channel]>([])

    init(limit: Int) { self.limit = limit }

    /// Adds a connection, and closes the oldest one if there are too many.
    func enter(_ channel: any Channel) {
        let oldest = self.channels.withLock { channels in
            channels.append(channel)
            // rule: observation-open-connections-unlimited
            return channels.count > self.limit ? channels.removeFirst() : nil
        }
        oldest?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            self.channels.withLock { channels in channels.removeAll { $0 === channel } }
        }
    }
}

/// The functions that provide the listener's responses.
package struct ObservationSources: Sendable {
    /// Returns the metrics in exposition format; called on the listener's thread.
    package var metrics: @Sendable () -> String
    /// Returns the names of the parts that are not responding.
    package var failures: @Sendable () async -> [String]
    package var readiness: @Sendable () -> Readiness.State
    /// Returns the reason why the server waits, while it does.
    package var waitingReason: @Sendable () -> String

    package init(
        metrics: @escaping @Sendable () -> String,
        failures: @escaping @Sendable () async -> [String],
        readiness: @escaping @Sendable () -> Readiness.State,
        waitingReason: @escaping @Sendable () -> String = { "" }
    ) {
        self.metrics = metrics
        self.failures = failures
        self.readiness = readiness
        self.waitingReason = waitingReason
    }
}

/// A complete HTTP response.
struct ObservationResponse: Sendable {
    var status: HTTPResponseStatus
    var mediaType = "text/plain; charset=utf-8"
    var text: String
    /// The methods supported by the resource.
    ///
    /// Sent if the request used a different one.
    var allowed: String?

    static let notFound = ObservationResponse(status: .notFound, text: "Not found. Paths: /metrics, /livez, /readyz.\n")
    static let notAllowed = ObservationResponse(
        status: .methodNotAllowed,
        text: "Only GET and HEAD are allowed.\n",
        allowed: "GET, HEAD"
    )
    static let malformed = ObservationResponse(status: .badRequest, text: "Malformed HTTP request.\n")
    static let tooLong = ObservationResponse(status: .requestHeaderFieldsTooLarge, text: "The request is too long.\n")

    static func alive(except failures: [String]) -> ObservationResponse {
        failures.isEmpty
            ? ObservationResponse(status: .ok, text: "ok\n")
            : ObservationResponse(status: .serviceUnavailable, text: "no answer: \(failures.joined(separator: ", "))\n")
    }

    static func readiness(_ state: Readiness.State, _ reason: String) -> ObservationResponse {
        switch state {
        case .starting: ObservationResponse(status: .serviceUnavailable, text: "starting\n")
        case .ready: ObservationResponse(status: .ok, text: "ok\n")
        case .waiting:
            // One line, since PostgreSQL's messages may have several.
            ObservationResponse(
                status: .serviceUnavailable,
                text: "waiting for the database: \(reason.split(whereSeparator: \.isNewline).joined(separator: " "))\n"
            )
        case .unreachable:
            ObservationResponse(
                status: .serviceUnavailable,
                text: "the file of admin.socket or portal.socket is missing: reload the server with SIGHUP\n"
            )
        case .vaultSilent:
            ObservationResponse(
                status: .serviceUnavailable,
                text: "the module with the vault's keys cannot be used: see the log, and that of remote-pin-keys\n"
            )
        case .stopping: ObservationResponse(status: .serviceUnavailable, text: "stopping\n")
        }
    }

    static func metrics(_ text: String) -> ObservationResponse {
        ObservationResponse(status: .ok, mediaType: Exposition.mediaType, text: text)
    }
}

/// Answers a single request and then closes the connection.
///
/// Connections are never kept alive, and data after the first request is ignored, so a client can neither occupy a
/// connection nor mix up two responses. Each connection has a fixed time limit, which the client cannot extend.
final class ObservationHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answers: ObservationSources
    private let limit: TimeAmount
    private var end: Scheduled<Void>?
    private var hasAnswered = false

    init(_ answers: ObservationSources, limit: TimeAmount) {
        self.answers = answers
        self.limit = limit
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // rule: observation-slow-peer-stays
        self.end = context.eventLoop.assumeIsolated().scheduleTask(in: self.limit) { context.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end?.cancel()
        self.end = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = self.unwrapInboundIn(data), !self.hasAnswered else { return }
        self.hasAnswered = true
        // The body and any further data stay in the socket's buffer.
        context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        let hosts = head.headers["Host"]
        // RFC 9112 §3.2.
        guard hosts.count == 1 || (hosts.isEmpty && head.version == .http1_0), hosts.allSatisfy(HostField.isValid)
        else { return self.send(.malformed, isHead: false, context: context) }
        let isHead = head.method == .HEAD
        let path = head.uri.prefix { $0 != "?" }
        guard ["/metrics", "/livez", "/readyz"].contains(path) else {
            return self.send(.notFound, isHead: isHead, context: context)
        }
        guard isHead || head.method == .GET else { return self.send(.notAllowed, isHead: false, context: context) }
        switch path {
        case "/metrics": self.send(.metrics(self.answers.metrics()), isHead: isHead, context: context)
        case "/readyz":
            let response = ObservationResponse.readiness(self.answers.readiness(), self.answers.waitingReason())
            self.send(response, isHead: isHead, context: context)
        default: self.askForFailures(isHead: isHead, context: context)
        }
    }

    private func askForFailures(isHead: Bool, context: ChannelHandlerContext) {
        let promise = context.eventLoop.makePromise(of: [String].self)
        let failures = self.answers.failures
        promise.completeWithTask { await failures() }
        promise.futureResult.assumeIsolated().whenSuccess { failures in
            self.send(.alive(except: failures), isHead: isHead, context: context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard context.channel.isActive else { return context.close(promise: nil) }
        // The response is being sent, after which the connection is closed. Further input must not interfere.
        guard !self.hasAnswered else { return }  // rule: observation-followed-request-unanswered
        self.hasAnswered = true
        switch error {
        case is RequestTooLong: self.send(.tooLong, isHead: false, context: context)
        case is HTTPParserError: self.send(.malformed, isHead: false, context: context)
        default: context.close(promise: nil)
        }
    }

    private func send(_ answer: ObservationResponse, isHead: Bool, context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        let body = ByteBuffer(string: answer.text)
        var headers: HTTPHeaders = [
            "Content-Type": answer.mediaType, "Content-Length": "\(body.readableBytes)", "Connection": "close",
            "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
        ]
        if let allowed = answer.allowed { headers.add(name: "Allow", value: allowed) }
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if !isHead { context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: sent)
    }
}

/// A request exceeded its size limit.
struct RequestTooLong: Error {}

/// Limits the number of input bytes on a connection before any other handler reads or buffers them.
final class RequestByteLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var rest: Int

    init(_ limit: Int) { self.rest = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.rest >= 0 else { return }
        self.rest -= self.unwrapInboundIn(data).readableBytes
        guard self.rest >= 0 else { return context.fireErrorCaught(RequestTooLong()) }
        context.fireChannelRead(data)
    }
}
