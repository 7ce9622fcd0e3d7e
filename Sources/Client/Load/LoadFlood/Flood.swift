internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The progress of a flood.
package struct FloodProgress: Hashable, Sendable {
    package var elapsed: Duration
    /// The number of connections opened so far.
    package var opened: Int
    /// The number of connections that are currently open.
    package var held: Int
    /// The number of connections closed by the server.
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

    /// The current progress.
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

    /// Ends the flood early.
    package func stop() {
        self.isStopped.store(true, ordering: .relaxed)
    }

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

    /// Keeps a connection open.
    ///
    /// Closes the oldest ones beyond the limit.
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

/// Counters for a flood.
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
