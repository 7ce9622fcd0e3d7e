internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// How far a flood is.
package struct FloodProgress: Hashable, Sendable {
    package var elapsed: Duration
    /// Connections that came about.
    package var opened: Int
    /// Of them, those that are there now.
    package var held: Int
    /// Ended by the server.
    package var closedByServer: Int
    /// Connections that did not come about: refused, or no answer in time.
    package var notOpened: Int
    /// Not begun, because too many waited for the server to accept them.
    package var unsent: Int
    package var bytesSent: Int
    package var bytesReceived: Int
}

/// Connections that mean no good, from many addresses of this machine, so many a second.
///
/// It loads what every server shows the world before anybody has said who he is. Ends by itself, and takes all its
/// connections with it.
package final class Flood: Sendable {
    /// Connections that may wait for the server to accept them.
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
    /// No connection is held any more.
    private let isOver = Atomic<Bool>(false)

    /// - Precondition: the plan has a kind, and a rate and a number of connections greater than zero.
    package init(_ plan: FloodPlan, host: String, port: Int) {
        precondition(!plan.kinds.isEmpty && plan.rate > 0 && plan.held > 0, "a flood is some connections of some kind")
        self.plan = plan
        self.host = host
        self.port = port
    }

    /// What happened until now.
    package var progress: FloodProgress {
        let (opened, ended) = (self.counts.opened.load(ordering: .relaxed), self.counts.ended.load(ordering: .relaxed))
        let ownEnds = self.counts.letGo.load(ordering: .relaxed)
        return FloodProgress(
            elapsed: .now - self.start,
            opened: opened,
            held: max(0, opened - ended),
            closedByServer: max(0, ended - ownEnds),
            notOpened: self.counts.notOpened.load(ordering: .relaxed),
            unsent: self.counts.unsent.load(ordering: .relaxed),
            bytesSent: self.counts.sent.load(ordering: .relaxed),
            bytesReceived: self.counts.received.load(ordering: .relaxed)
        )
    }

    /// Ends it early.
    package func stop() {
        self.isStopped.store(true, ordering: .relaxed)
    }

    /// Floods until its time is over or ``stop()``; returns when all of its connections have ended.
    package func run() async {
        let began = ContinuousClock.now
        var (begun, generator) = (0, SystemRandomNumberGenerator())
        while !self.isStopped.load(ordering: .relaxed), !Task.isCancelled, .now - began < self.plan.duration {
            let due = Int((.now - began) / .seconds(1) * self.plan.rate)
            while begun < due {
                self.begin(self.plan.kinds[begun % self.plan.kinds.count], using: &generator)
                begun += 1
            }
            try? await Task.sleep(for: Self.interval)
        }
        // Those that are still on their way are closed as soon as they come about.
        self.isOver.store(true, ordering: .sequentiallyConsistent)
        for channel in self.connections.withLock({ Array($0) }) {
            self.letGo(channel)
            try? await channel.closeFuture.get()
        }
    }

    private func begin(_ kind: FloodKind, using generator: inout some RandomNumberGenerator) {
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
            // ip(7), IP_BIND_ADDRESS_NO_PORT: an address has its ports for each server anew.
            bootstrap =
                bootstrap
                .channelOption(ChannelOptions.Types.SocketOption(level: .ip, name: .init(rawValue: 24)), value: 1)
                .bind(to: address)
        }
        bootstrap.connect(host: self.host, port: self.port).whenComplete { result in
            counts.waiting.subtract(1, ordering: .relaxed)
            switch result {
            case .success(let channel):
                if kind.leavesAtOnce { counts.letGo.add(1, ordering: .relaxed) } else { self.keep(channel) }
            case .failure: counts.notOpened.add(1, ordering: .relaxed)
            }
        }
    }

    /// Holds a connection; the oldest goes where there are too many.
    private func keep(_ channel: any Channel) {
        let surplus: [any Channel] = self.connections.withLock { connections in
            connections.append(channel)
            var surplus: [any Channel] = []
            while let first = connections.first, !first.isActive { _ = connections.popFirst() }
            while connections.count > self.plan.held, let first = connections.popFirst() { surplus.append(first) }
            return surplus
        }
        for channel in surplus { self.letGo(channel) }
        if self.isOver.load(ordering: .sequentiallyConsistent) { self.letGo(channel) }
    }

    private func letGo(_ channel: any Channel) {
        guard channel.isActive else { return }
        self.counts.letGo.add(1, ordering: .relaxed)
        channel.close(promise: nil)
    }
}

/// What is counted of a flood.
final class FloodCounts: Sendable {
    let waiting = Atomic<Int>(0)
    let opened = Atomic<Int>(0)
    let ended = Atomic<Int>(0)
    /// Ended by the flood itself.
    let letGo = Atomic<Int>(0)
    let notOpened = Atomic<Int>(0)
    let unsent = Atomic<Int>(0)
    let sent = Atomic<Int>(0)
    let received = Atomic<Int>(0)
}
