internal import NIOCore
internal import NIOPosix
internal import Synchronization
internal import Transport
internal import Vocabulary
package import WalletCore
internal import Wire

/// A simulated phone's network, which sits between the wallet and its dialer (docs/devices.md, The network).
///
/// TLS connections run through it end to end, so it can delay or drop data, but it cannot read or modify it.
package final class SimulatedNetwork: ServerDialer {
    private let dialer: TLSDialer
    private let device: SimulatedDevice
    private let wait: Wait
    private let hold: Hold

    /// Sleeps until a delayed answer arrives, in real time or on a lab's clock; throws if the wallet's process ends
    /// during the call.
    package typealias Wait = @Sendable (Duration) async throws -> Void

    package static let realTime: Wait = { try await Task.sleep(for: $0) }

    /// Defers a call if the server is frozen.
    ///
    /// Otherwise, returns false.
    ///
    /// The server executes a deferred call once it resumes, by which time the wallet has given up on it.
    package typealias Hold = @Sendable (@escaping @Sendable () async -> Void) -> Bool

    package static let neverHeld: Hold = { _ in false }

    package init(
        _ dialer: TLSDialer,
        of device: SimulatedDevice,
        wait: @escaping Wait = SimulatedNetwork.realTime,
        hold: @escaping Hold = SimulatedNetwork.neverHeld
    ) {
        self.dialer = dialer
        self.device = device
        self.wait = wait
        self.hold = hold
    }

    package var address: String { self.dialer.address }

    package func dial() async throws(DialError) -> any CallChannel {
        switch self.device.profile.network {
        case .off: throw .noInternet
        case .unreachable: throw .unreachable(.connectionTimedOut)
        case .on: break
        }
        guard !self.hold({}) else {
            try? await self.wait(TLSDialer.connectLimit)
            throw .unreachable(.connectionTimedOut)
        }
        guard let relay = await Relay.open(to: self.dialer.server) else {
            return self.channel(try await self.dialer.dial(), relay: nil)
        }
        let cut = try? self.device.takeCondition { if case .cut = $0 { true } else { false } }
        if case .cut(let byteCount) = cut { relay.cut(after: byteCount) }
        do throws(DialError) {
            let channel = try await self.dialer.dial(host: relay.host, port: relay.port)
            await relay.closeListener()
            return self.channel(channel, relay: relay)
        } catch {
            await relay.closeListener()
            // The relay could not reach the server. Dial directly, so that the caller gets the actual error.
            guard relay.hasReachedServer else {
                return self.channel(try await self.dialer.dial(), relay: nil)
            }
            throw error
        }
    }

    private func channel(_ channel: any CallChannel, relay: Relay?) -> SimulatedChannel {
        SimulatedChannel(channel: channel, device: self.device, relay: relay, wait: self.wait, hold: self.hold)
    }
}

private final class SimulatedChannel: CallChannel {
    private let channel: any CallChannel
    private let device: SimulatedDevice
    /// Nil if the connection is direct.
    private let relay: Relay?
    private let wait: SimulatedNetwork.Wait
    private let hold: SimulatedNetwork.Hold
    /// Whether the connection has been lost.
    ///
    /// After that, calls fail without using up a condition.
    private let hasEnded = Mutex(false)
    /// Whether the connection carries a call that a frozen server has not read yet.
    private let isHeld = Mutex(false)

    init(
        channel: any CallChannel,
        device: SimulatedDevice,
        relay: Relay?,
        wait: @escaping SimulatedNetwork.Wait,
        hold: @escaping SimulatedNetwork.Hold
    ) {
        self.channel = channel
        self.device = device
        self.relay = relay
        self.wait = wait
        self.hold = hold
    }

    var channelBinding: ChannelBinding { self.channel.channelBinding }

    func call(_ call: Call) async throws(CallError) -> CallResult {
        try await self.checkNetwork()
        try await self.checkFrost(call)
        var delay = Duration.zero
        switch try self.condition(for: call) {
        case nil: break
        case .delay(let milliseconds): delay = .milliseconds(milliseconds)
        case .loseReply:
            _ = try await self.channel.call(call)
            await self.close()
            throw .closed
        case .cut(let byteCount):
            guard let relay = self.relay else {
                await self.close()
                throw .closed
            }
            relay.cut(after: byteCount)
        }
        let result: CallResult
        do throws(CallError) {
            result = try await self.channel.call(call)
        } catch {
            self.hasEnded.withLock { $0 = true }
            throw error
        }
        if delay > .zero { try await self.receiveLate(after: delay) }
        // The phone may have gone offline while the call was in flight, in which case the answer is lost.
        try await self.checkNetwork()
        return result
    }

    /// If the server is frozen, throws once the wallet's time limit has passed.
    ///
    /// The server executes the call when it resumes.
    private func checkFrost(_ call: Call) async throws(CallError) {
        let channel = self.channel
        let isHeld = self.hold {
            _ = try? await channel.call(call)
            await channel.close()
        }
        guard isHeld else { return }
        self.isHeld.withLock { $0 = true }
        self.hasEnded.withLock { $0 = true }
        try? await self.wait(TLSDialer.callLimit)
        throw .timedOut
    }

    /// Waits for a delayed answer.
    ///
    /// It is lost if it would arrive after the wallet's time limit.
    private func receiveLate(after delay: Duration) async throws(CallError) {
        let isTooLate = delay >= TLSDialer.callLimit
        // This throws if the wallet's process ends, in which case there is nothing left to wait for.
        guard (try? await self.wait(min(delay, TLSDialer.callLimit))) != nil, !isTooLate else {
            await self.close()
            throw .timedOut
        }
    }

    /// Pipelines the calls, or sends them one at a time if there are pending network conditions.
    func callInOrder(_ calls: [Call]) async -> [Result<CallResult, CallError>] {
        let profile = self.device.profile
        if profile.network == .on, profile.conditions.isEmpty, !self.hold({}) {
            return await self.channel.callInOrder(calls)
        }
        return await self.callOneByOne(calls)
    }

    func close() async {
        self.hasEnded.withLock { $0 = true }
        // A held call has already left the phone, so its connection stays open.
        if !self.isHeld.withLock({ $0 }) { await self.channel.close() }
    }

    /// Throws if the phone is offline or the connection is lost.
    private func checkNetwork() async throws(CallError) {
        guard !self.hasEnded.withLock({ $0 }) else { throw .closed }
        guard self.device.profile.network != .on else { return }
        await self.close()
        throw .closed
    }

    private func condition(for call: Call) throws(CallError) -> NetworkCondition? {
        do {
            return try self.device.takeCondition { condition in
                switch condition {
                case .loseReply(to: .some(let kind)): kind == call.kind
                case .loseReply(to: nil), .delay, .cut: true
                }
            }
        } catch {
            throw .closed
        }
    }
}

/// A TCP proxy for a single connection to the server, which it can close after a number of bytes.
///
/// The relay listens on the loopback interface until it has accepted the connection, and forwards bytes as they arrive.
final class Relay: Sendable {
    let host = "127.0.0.1"
    let port: Int
    private let listener: any Channel
    private let state: RelayState

    /// Returns nil if the system does not assign a port.
    static func open(to server: TLSDialer.Server) async -> Relay? {
        let state = RelayState()
        let (host, port) = (server.host, server.port)
        let listener = try? await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            // Disable Nagle's algorithm here too: the wallet and the server both do.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connectTimeout(.seconds(10))
                    .connect(host: host, port: port)
                    .flatMapThrowing { server in
                        state.reachedServer()
                        let (near, far) = RelayHandler.pair(on: state)
                        try client.pipeline.syncOperations.addHandler(near)
                        try server.pipeline.syncOperations.addHandler(far)
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let listener, let port = listener.localAddress?.port else { return nil }
        return Relay(listener: listener, port: port, state: state)
    }

    private init(listener: any Channel, port: Int, state: RelayState) {
        self.listener = listener
        self.port = port
        self.state = state
    }

    /// Whether the server has accepted the connection.
    var hasReachedServer: Bool { self.state.values.withLock { $0.hasReachedServer } }

    /// Closes the connection after the given number of bytes, counting both directions.
    func cut(after byteCount: Int) { self.state.values.withLock { $0.bytesLeft = byteCount } }

    /// Stops listening, without affecting the accepted connection.
    func closeListener() async {
        // This throws if the listener is already closed, which is harmless.
        _ = try? await self.listener.close()
    }
}

/// The state shared by both ends of a relayed connection and by its owner.
final class RelayState: Sendable {
    struct Values {
        var hasReachedServer = false
        /// The number of bytes left until the connection is closed, if a limit is set.
        var bytesLeft: Int?
    }

    let values = Mutex(Values())

    func reachedServer() { self.values.withLock { $0.hasReachedServer = true } }

    /// Returns how many of the bytes may still be forwarded.
    func admit(_ byteCount: Int) -> Int {
        self.values.withLock { values in
            guard let left = values.bytesLeft else { return byteCount }
            values.bytesLeft = max(0, left - byteCount)
            return min(left, byteCount)
        }
    }
}

/// One end of a relayed connection.
///
/// It applies back-pressure, so it reads no faster than the other end writes.
///
/// Both ends run on the same event loop, and no other code accesses them.
private final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = NIOAny
    typealias OutboundOut = ByteBuffer

    private let state: RelayState
    private var partner: RelayHandler?
    private var context: ChannelHandlerContext?
    private var isReadPending = false

    private init(_ state: RelayState) { self.state = state }

    static func pair(on state: RelayState) -> (RelayHandler, RelayHandler) {
        let (near, far) = (RelayHandler(state), RelayHandler(state))
        near.partner = far
        far.partner = near
        return (near, far)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.partner?.partnerBecameWritable()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        self.partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        let byteCount = bytes.readableBytes
        let admitted = self.state.admit(byteCount)
        if let slice = bytes.readSlice(length: admitted), admitted > 0 {
            self.partner?.context?.writeAndFlush(NIOAny(slice), promise: nil)
        }
        if admitted < byteCount { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.partner?.context?.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { self.partner?.partnerBecameWritable() }
        context.fireChannelWritabilityChanged()
    }

    func read(context: ChannelHandlerContext) {
        if self.partner?.context?.channel.isWritable ?? false {
            context.read()
        } else {
            self.isReadPending = true
        }
    }

    private func partnerBecameWritable() {
        guard self.isReadPending else { return }
        self.isReadPending = false
        self.context?.read()
    }
}
