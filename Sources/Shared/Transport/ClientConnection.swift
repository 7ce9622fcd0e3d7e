internal import Glibc
internal import NIOCore
internal import NIOPosix
package import Vocabulary
package import Wire

/// A client's connection to a server.
///
/// Several calls may be in flight, each with its own timeout.
package final class ClientConnection: Sendable {
    /// The exported secret that is known only to the two ends of this connection.
    package let channelBinding: ChannelBinding
    /// Whether the handshake resumed an earlier connection with a ticket.
    package let isResumed: Bool

    private let calls: PendingCalls<CallResult>

    private init(_ calls: PendingCalls<CallResult>, _ opened: TLSHandshakeCompleted) {
        self.calls = calls
        self.channelBinding = opened.channelBinding
        self.isResumed = opened.isResumed
    }

    /// Uses a channel without TLS, which a simulator connects; called on the channel's event loop.
    convenience init(on channel: any Channel, channelBinding: ChannelBinding) throws {
        let opened = TLSHandshakeCompleted(channelBinding: channelBinding, isResumed: false)
        self.init(try Self.calls(on: channel, isSecure: false), opened)
    }

    private static func calls(on channel: any Channel, isSecure: Bool) throws -> PendingCalls<CallResult> {
        try PendingCalls(on: channel, isSecure: isSecure) { frame throws(WireError) in
            let response = try Response(decoding: frame)
            return (response.id, response.result)
        }
    }

    /// Connects to a server and verifies it using `tls`.
    ///
    /// If the task runs on an event loop, the connection uses the same one, so that no step requires a thread switch.
    ///
    /// - Parameters:
    ///   - timeout: The overall time limit for name resolution, TCP and TLS.
    ///   - source: The local address to connect from, or nil to let the system choose.
    package static func connect(
        host: String,
        port: Int,
        tls: TLSClientContext,
        timeout: Duration,
        from source: String? = nil
    ) async throws(ConnectError) -> ClientConnection {
        let deadline = NIODeadline.now() + TimeAmount(timeout)
        do {
            let bootstrap = try Self.bootstrap(from: source)
                .connectTimeout(TimeAmount(timeout))
                .channelOption(.autoRead, value: false)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            let begin: @Sendable (any Channel) -> EventLoopFuture<PendingCalls<CallResult>> = { channel in
                channel.eventLoop.makeCompletedFuture {
                    let limits = TransportLimits()
                    let handler = TLSHandler(
                        tls.makeConnection(),
                        on: channel.eventLoop,
                        timer: HandshakeTimer(deadline: deadline, on: channel.eventLoop),
                        recordLimit: TimeAmount(limits.frame)
                    )
                    try channel.pipeline.syncOperations.addHandler(handler)
                    return try Self.calls(on: channel, isSecure: true)
                }
            }
            // If we have an address, we can skip name resolution, which runs on another thread and tries both address
            // families.
            let calls =
                if let address = try? SocketAddress(ipAddress: host, port: port) {
                    try await bootstrap.connect(to: address, channelInitializer: begin)
                } else {
                    try await bootstrap.connect(host: host, port: port, channelInitializer: begin)
                }
            guard let opened = try await calls.open() else {
                preconditionFailure("a connection with a TLS handler opens with TLS")
            }
            return ClientConnection(calls, opened)
        } catch {
            throw ConnectError(error)
        }
    }

    private static func bootstrap(from source: String?) throws -> ClientBootstrap {
        let bootstrap = ClientBootstrap(group: EventLoops.here)
        guard let source else { return bootstrap }
        // With IP_BIND_ADDRESS_NO_PORT (ip(7)), the kernel chooses the port at connect(2), so that the full range of
        // local ports is available for each server address.
        return
            bootstrap
            .channelOption(ChannelOptions.Types.SocketOption(level: .ip, name: .init(rawValue: 24)), value: 1)
            .bind(to: try SocketAddress(ipAddress: source, port: 0))
    }

    /// Makes a call and waits for its answer.
    package func call(_ call: Call, timeout: Duration) async throws(CallError) -> CallResult {
        try await self.calls.call(timeout: timeout) { id in Request(id: id, call: call).encoded() }
    }

    /// Sends several calls together and waits for all of the answers, which are returned in the order of the calls.
    ///
    /// Throws the error of the first call that was not answered. The server may or may not have processed the others.
    ///
    /// - Precondition: The server accepts this many calls at a time (``ServerTerms/Limits/maxInFlight``).
    package func call(_ calls: [Call], timeout: Duration) async throws(CallError) -> [CallResult] {
        try await self.results(of: calls, timeout: timeout).map { (result) throws(CallError) in try result.get() }
    }

    /// Does the same, and returns the error of each call that was not answered.
    package func results(of calls: [Call], timeout: Duration) async -> [Result<CallResult, CallError>] {
        let requests = calls.map { call in { id in Request(id: id, call: call).encoded() } }
        return await self.calls.callTogether(timeout: timeout, requests)
    }

    /// Whether calls can still be made.
    package var isOpen: Bool { self.calls.isOpen }

    /// The executor of the connection's event loop, for tasks that make many calls.
    ///
    /// They must not block.
    package var executor: any TaskExecutor { self.calls.executor }

    /// Closes the connection gracefully.
    ///
    /// Calls that are still waiting throw ``CallError/closed``.
    package func close() { self.calls.close() }

    /// Waits until the connection has ended.
    package func closed() async { await self.calls.closed() }
}

/// An error that prevented a connection from being established.
package enum ConnectError: Error, Hashable, Sendable {
    /// The network is down or the name cannot be resolved. Retry when the network is back.
    case noRoute
    /// The host is up, but nothing is listening on the port. Retry later.
    case refused
    /// The host did not answer in time.
    ///
    /// Retry later.
    case timedOut
    /// The peer is not the trusted server, or TLS failed for another reason.
    case tls(TLSFailure)
}

extension ConnectError {
    /// Converts an error from NIO or TLS.
    init(_ error: any Error) {
        switch error {
        case let failure as TLSFailure: self = failure == .timedOut ? .timedOut : .tls(failure)
        case let failure as NIOConnectionError:
            self = Self.mostTelling(failure.connectionErrors.map { Self($0.error) })
        case let failure as IOError where failure.errnoCode == ECONNREFUSED || failure.errnoCode == ENOENT:
            self = .refused
        case ChannelError.connectTimeout: self = .timedOut
        case is ChannelError: self = .tls(.endedEarly)
        default: self = .noRoute
        }
    }

    /// Chooses which error to report if none of a name's addresses could be connected to.
    ///
    /// If one address refused the connection or timed out, this is more useful to the user than another address being
    /// unreachable. If the list is empty, the name could not be resolved.
    private static func mostTelling(_ errors: [ConnectError]) -> ConnectError {
        if errors.contains(.refused) { return .refused }
        if errors.contains(.timedOut) { return .timedOut }
        return errors.first ?? .noRoute
    }
}
