internal import NIOCore
internal import NIOPosix
internal import Synchronization

package struct FloodProgress: Hashable, Sendable {
    package var elapsed: Duration
    /// The number of connections opened so far.
    package var opened: Int
    /// The number of connections that are currently open.
    package var held: Int
    package var closedByServer: Int
    /// The number of connections that could not be opened, because they were refused or timed out.
    package var notOpened: Int
    /// The number of connection attempts that were skipped because too many were still waiting for the server.
    package var unsent: Int
    package var bytesSent: Int
    package var bytesReceived: Int
}

/// Opens hostile connections from many addresses of this machine, at a constant rate.
///
/// A flood exercises the attack surface that a server exposes to unauthenticated clients. It closes all of its
/// connections when it ends.
package final class Flood: Sendable {
    /// The maximum number of connection attempts that the server has not accepted yet.
    private static let mostWaiting = 2_000
    private static let connectLimit = TimeAmount.seconds(5)
    private static let interval: Duration = .milliseconds(10)

    private let host: String
    private let port: Int
    private let plan: FloodPlan
    private let counts = FloodCounts()
    private let start = ContinuousClock.now
    private let connections = Mutex(CircularBuffer<any Channel>())
    private let isStopped = Atomic<Bool>(false)
    /// Set at the end, so that connections still being established are closed as soon as they open.
    private let isClosing = Atomic<Bool>(false)

    /// - Precondition: The plan has a kind, a rate and a number of connections greater than zero.
    package init(_ plan: FloodPlan, host: String, port: Int) {
        precondition(
            !plan.kinds.isEmpty && plan.rate > 0 && plan.held > 0,
            "a flood needs a kind, a rate and connections"
        )
        self.plan = plan
        self.host = host
        self.port = port
    }

    package var progress: FloodProgress {
        let (opened, ended) = (self.counts.opened.load(ordering: .relaxed), self.counts.ended.load(ordering: .relaxed))
        let ownCloses = self.counts.closed.load(ordering: .relaxed)
        return FloodProgress(
            elapsed: .now - self.start,
            opened: opened,
            held: max(0, opened - ended),
            closedByServer: max(0, ended - ownCloses),
            notOpened: self.counts.notOpened.load(ordering: .relaxed),
            unsent: self.counts.unsent.load(ordering: .relaxed),
            bytesSent: self.counts.sent.load(ordering: .relaxed),
            bytesReceived: self.counts.received.load(ordering: .relaxed)
        )
    }

    package func stop() { self.isStopped.store(true, ordering: .relaxed) }

    /// Floods for the plan's duration or until ``stop()``, then waits until all of its connections have closed.
    package func run() async {
        let began = ContinuousClock.now
        var (begun, generator) = (0, SystemRandomNumberGenerator())
        while !self.isStopped.load(ordering: .relaxed), !Task.isCancelled, .now - began < self.plan.duration {
            let due = Int((.now - began) / .seconds(1) * self.plan.rate)
            while begun < due {
                self.connect(self.plan.kinds[begun % self.plan.kinds.count], using: &generator)
                begun += 1
            }
            try? await Task.sleep(for: Self.interval)
        }
        self.isClosing.store(true, ordering: .sequentiallyConsistent)
        for channel in self.connections.withLock({ Array($0) }) {
            self.close(channel)
            try? await channel.closeFuture.get()
        }
    }

    private func connect(_ kind: FloodKind, using generator: inout some RandomNumberGenerator) {
        guard self.counts.waiting.load(ordering: .relaxed) < Self.mostWaiting else {
            self.counts.unsent.add(1, ordering: .relaxed)
            return
        }
        self.counts.waiting.add(1, ordering: .relaxed)
        let source = self.plan.sources?.address(using: &generator)
        let (counts, pause) = (self.counts, TimeAmount(self.plan.pause))
        var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connectTimeout(Self.connectLimit)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let connection = FloodConnection(kind, pause: pause, counts: counts)
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
        if let source, let address = try? SocketAddress(ipAddress: source, port: 0) {
            // IP_BIND_ADDRESS_NO_PORT, see ip(7): allows an address to use all of its ports for each destination.
            bootstrap =
                bootstrap
                .channelOption(ChannelOptions.Types.SocketOption(level: .ip, name: .init(rawValue: 24)), value: 1)
                .bind(to: address)
        }
        bootstrap.connect(host: self.host, port: self.port).whenComplete { result in
            counts.waiting.subtract(1, ordering: .relaxed)
            switch result {
            case .success(let channel):
                if kind.closesAtOnce { counts.closed.add(1, ordering: .relaxed) } else { self.hold(channel) }
            case .failure: counts.notOpened.add(1, ordering: .relaxed)
            }
        }
    }

    /// Keeps a connection open; closes the oldest ones beyond the limit.
    private func hold(_ channel: any Channel) {
        let surplus: [any Channel] = self.connections.withLock { connections in
            connections.append(channel)
            var surplus: [any Channel] = []
            while let first = connections.first, !first.isActive { _ = connections.popFirst() }
            while connections.count > self.plan.held, let first = connections.popFirst() { surplus.append(first) }
            return surplus
        }
        for channel in surplus { self.close(channel) }
        if self.isClosing.load(ordering: .sequentiallyConsistent) { self.close(channel) }
    }

    private func close(_ channel: any Channel) {
        guard channel.isActive else { return }
        self.counts.closed.add(1, ordering: .relaxed)
        channel.close(promise: nil)
    }
}

final class FloodCounts: Sendable {
    let waiting = Atomic<Int>(0)
    let opened = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    /// The number of connections closed by the flood.
    let closed = Atomic<Int>(0)
    let notOpened = Atomic<Int>(0)
    let unsent = Atomic<Int>(0)
    let sent = Atomic<Int>(0)
    let received = Atomic<Int>(0)
}

/// A way in which a flood connection misbehaves.
package enum FloodKind: String, CaseIterable, Sendable {
    /// Connects and sends nothing.
    case halfOpen = "half-open"
    /// Sends a TLS client hello one byte at a time.
    case slow
    /// Sends random bytes immediately.
    case garbage
    /// Sends a complete client hello and then stalls.
    ///
    /// By then, the server has performed a key agreement and a signature.
    case hello
    /// Connects and closes the connection immediately.
    case churn

    /// Whether the flood closes the connection as soon as it is open.
    var closesAtOnce: Bool { self == .churn }
}

package struct FloodPlan: Sendable {
    /// The kinds of successive connections.
    ///
    /// A kind may occur more than once.
    package var kinds: [FloodKind]
    /// The local addresses to connect from.
    ///
    /// If nil, the system chooses.
    package var sources: SourceNetwork?
    /// The number of new connections per second.
    package var rate: Double
    /// The maximum number of open connections.
    ///
    /// Once it is reached, each new connection closes the oldest one.
    package var held: Int
    package var duration: Duration
    /// The pause between two bytes on a slow connection.
    package var pause: Duration = .milliseconds(500)

    package init(kinds: [FloodKind], sources: SourceNetwork?, rate: Double, held: Int, duration: Duration) {
        self.kinds = kinds
        self.sources = sources
        self.rate = rate
        self.held = held
        self.duration = duration
    }
}

/// An IPv4 network of local addresses, 127.0.0.0/8 or part of it.
package struct SourceNetwork: Hashable, Sendable, CustomStringConvertible {
    private let base: UInt32
    private let prefixLength: Int

    /// Parses a network such as `127.0.0.0/16`.
    ///
    /// Fails if it is not in the loopback range or has host bits set.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts.first?.split(separator: ".", omittingEmptySubsequences: false).compactMap { UInt8($0) } ?? []
        guard parts.count <= 2, octets.count == 4, octets[0] == 127 else { return nil }
        guard let length = parts.count == 2 ? Int(parts[1]) : 32, (8...32).contains(length) else { return nil }
        self.base = octets.reduce(0) { $0 << 8 | UInt32($1) }
        self.prefixLength = length
        guard self.base & self.hostMask == 0 else { return nil }
    }

    private var hostMask: UInt32 { self.prefixLength == 32 ? 0 : UInt32.max >> UInt32(self.prefixLength) }

    /// Returns a random address in the network.
    package func address(using generator: inout some RandomNumberGenerator) -> String {
        let number = self.base | UInt32.random(in: 0...self.hostMask, using: &generator)
        return Self.text(number)
    }

    private static func text(_ number: UInt32) -> String {
        stride(from: 24, through: 0, by: -8).map { "\(number >> UInt32($0) & 0xFF)" }.joined(separator: ".")
    }

    package var description: String { "\(Self.text(self.base))/\(self.prefixLength)" }
}

/// A flood connection that misbehaves according to its kind until it is closed.
final class FloodConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let kind: FloodKind
    private let pause: TimeAmount
    private let counts: FloodCounts
    private var bytes: [UInt8] = []
    private var next = 0
    private var timer: Scheduled<Void>?

    init(_ kind: FloodKind, pause: TimeAmount, counts: FloodCounts) {
        self.kind = kind
        self.pause = pause
        self.counts = counts
    }

    func channelActive(context: ChannelHandlerContext) {
        self.counts.opened.add(1, ordering: .relaxed)
        var generator = SystemRandomNumberGenerator()
        switch self.kind {
        case .halfOpen: break
        case .churn: context.close(promise: nil)
        case .garbage:
            let count = Int.random(in: 1...512, using: &generator)
            self.send((0..<count).map { _ in .random(in: 0...255, using: &generator) }, context: context)
        case .hello: self.send(ClientHello.record(using: &generator), context: context)
        case .slow:
            self.bytes = ClientHello.record(using: &generator)
            self.drip(context: context)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.counts.received.add(self.unwrapInboundIn(data).readableBytes, ordering: .relaxed)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = nil
        self.counts.ended.add(1, ordering: .relaxed)
        context.fireChannelInactive()
    }

    private func drip(context: ChannelHandlerContext) {
        guard self.next < self.bytes.count else { return }
        self.send([self.bytes[self.next]], context: context)
        self.next += 1
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.pause) { self.drip(context: context) }
    }

    private func send(_ bytes: [UInt8], context: ChannelHandlerContext) {
        self.counts.sent.add(bytes.count, ordering: .relaxed)
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }
}

/// A TLS 1.3 client hello like a phone's, with a key share whose private key is unknown.
enum ClientHello {
    /// Returns a record with the complete message (RFC 8446 §4.1.2, §5.1), with new random bytes each time.
    static func record(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: 0...255, using: &generator) } }
        let protocolName = Array("remote-pin/1".utf8)
        let extensions: [[UInt8]] = [
            // supported_versions: only 1.3; supported_groups and key_share: X25519; ECDSA with P-256; ALPN.
            self.extension(43, [2, 3, 4]),
            self.extension(10, [0, 2, 0, 29]),
            self.extension(13, [0, 2, 4, 3]),
            self.extension(51, [0, 36, 0, 29, 0, 32] + random(32)),
            self.extension(16, [0, UInt8(protocolName.count + 1), UInt8(protocolName.count)] + protocolName),
        ]
        let body = [3, 3] + random(32) + [0] + [0, 2, 0x13, 0x01] + [1, 0] + self.counted(extensions.flatMap(\.self))
        let message = [1, 0] + self.counted(body)
        return [22, 3, 1] + self.counted(message)
    }

    private static func `extension`(_ type: UInt8, _ data: [UInt8]) -> [UInt8] { [0, type] + self.counted(data) }

    /// Prefixes bytes with their two-byte length.
    private static func counted(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
    }
}
