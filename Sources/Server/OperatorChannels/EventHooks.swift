package import Logging
package import Metrics
package import ServerSettings
internal import ServiceLifecycle
internal import Synchronization
package import Vocabulary

/// Reports wallet events to the operator's programs and sockets as they happen.
///
/// Callers never wait: each receiver has its own queue, which drops lines when it is full. Delivery is best effort; the
/// durable records are the audit log and the store.
package final class EventHooks: Sendable {
    /// Limits on queue capacity and delivery times.
    package struct Limits: Sendable {
        /// The maximum number of lines queued for one receiver.
        ///
        /// Any more are dropped.
        package var capacity = 4096
        /// The time after which a receiver that accepts no lines is closed and reopened.
        package var writeTimeout: Duration = .seconds(10)
        /// The initial delay before a failed receiver is reopened.
        ///
        /// It doubles each time the receiver accepted no line.
        package var initialBackoff: Duration = .milliseconds(250)
        package var maximumBackoff: Duration = .seconds(30)
        /// The time allowed for delivering queued lines when the server stops.
        package var shutdownGrace: Duration = .seconds(2)

        package init() {}
    }

    private struct State {
        /// The number of the last event.
        var number: UInt64 = 0
        /// The receivers of new events.
        var current: ReceiverSet
        /// The receivers being served: the current ones, or earlier ones that still have queued lines.
        var served: ReceiverSet?
    }

    private let state: Mutex<State>
    /// The receiver sets in the order they are served, one after another.
    private let sets: AsyncStream<ReceiverSet>
    private let following: AsyncStream<ReceiverSet>.Continuation
    private let limits: Limits
    private let clock: any WallClock
    private let log: Logger
    private let metrics: any MetricsFactory

    /// - Parameter metrics: Creates the counters of delivered and dropped lines.
    package init(
        _ receivers: [any EventReceiver],
        limits: Limits = Limits(),
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
    ) {
        let first = ReceiverSet(receivers, limits: limits, clock: clock, log: log, metrics: metrics)
        self.state = Mutex(State(current: first))
        (self.sets, self.following) = AsyncStream.makeStream()
        self.limits = limits
        self.clock = clock
        self.log = log
        self.metrics = metrics
        self.following.yield(first)
    }

    /// Creates the hooks that the settings name, or some that report nothing until a reload adds a receiver.
    package convenience init(
        _ settings: ServerSettings,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory
    ) {
        // Create the series for every kind of receiver, so that each starts at 0 even if no such receiver exists.
        for kind in OperatorChannel.Kind.allCases { _ = HookMeters(kind, metrics) }
        var limits = Limits()
        limits.capacity = settings[SettingTable.hookQueue]
        self.init(Self.receivers(settings), limits: limits, clock: clock, log: log, metrics: metrics)
    }

    private static func receivers(_ settings: ServerSettings) -> [any EventReceiver] {
        OperatorChannel.named(
            program: settings[SettingTable.hookProgram],
            arguments: settings[SettingTable.hookArguments],
            socket: settings[SettingTable.hookSocket]
        )
    }

    /// Queues an event for every receiver without waiting.
    package func report(_ event: WalletIncident) {
        // Number and queue the event in a single step, because receivers interpret a gap in the numbers as a lost
        // event.
        let offers = self.state.withLock { state -> [(feed: EventFeed, dropped: Int?)] in
            let feeds = state.current.feeds
            guard !feeds.isEmpty else { return [] }
            state.number += 1
            let line = EventLine(number: state.number, time: self.clock.now(), content: .wallet(event)).bytes
            return feeds.map { ($0, $0.queue.offer(line)) }
        }
        for case (let feed, let droppedCount?) in offers {
            feed.meters.dropped.increment()
            // Only the first drop is logged here. The feed logs the total when the receiver accepts lines again.
            if droppedCount == 1 { self.log.error("events are dropped", metadata: ["hook": "\(feed.receiver.name)"]) }
        }
    }

    /// Replaces the receivers.
    ///
    /// Later events only go to the new ones. The old receivers get a limited time to accept their queued lines and are
    /// closed before the new ones are opened. A socket that stays configured therefore gets all lines in order, and a
    /// program never runs at the same time as its successor. Does nothing once the server is stopping.
    package func replace(with receivers: [any EventReceiver], capacity: Int) {
        var limits = self.limits
        limits.capacity = capacity
        let new = ReceiverSet(receivers, limits: limits, clock: self.clock, log: self.log, metrics: self.metrics)
        self.state.withLock { state in
            guard case .enqueued = self.following.yield(new) else { return }
            state.current.retire()
            state.current = new
        }
    }

    /// Replaces the receivers by those that the settings name.
    package func use(_ settings: ServerSettings) {
        self.replace(with: Self.receivers(settings), capacity: settings[SettingTable.hookQueue])
    }

    /// Kills the started programs and all their children, because this process is about to exit.
    ///
    /// A program would also see the end of its input, but it may ignore that.
    package func endAtOnce() {
        for feed in self.state.withLock({ $0.served?.feeds }) ?? [] { feed.receiver.endAtOnce() }
    }

    /// Delivers lines until graceful shutdown, and then any queued lines for a limited time.
    ///
    /// Stops at once if cancelled.
    package func run() async {
        await withGracefulShutdownHandler {
            for await set in self.sets {
                self.state.withLock { $0.served = set }
                await set.run(grace: self.limits.shutdownGrace)
            }
        } onGracefulShutdown: {
            self.following.finish()
        }
    }
}

/// The receivers of a configuration, each with its own queue.
final class ReceiverSet: Sendable {
    let feeds: [EventFeed]
    /// Finishes when these receivers are replaced.
    private let retirement: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    init(
        _ receivers: [any EventReceiver],
        limits: EventHooks.Limits,
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory
    ) {
        self.feeds = receivers.map {
            EventFeed(
                receiver: $0,
                queue: LineQueue(capacity: limits.capacity),
                limits: limits,
                clock: clock,
                log: log,
                meters: HookMeters($0.kind, metrics)
            )
        }
        (self.retirement, self.source) = AsyncStream.makeStream()
    }

    /// Ends the delivery.
    ///
    /// The caller must not offer further events.
    func retire() { self.source.finish() }

    /// Delivers lines until the set is retired or the server stops.
    ///
    /// Then delivers queued lines for up to `grace`. Stops at once if the task is cancelled.
    func run(grace: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { feeds in
                    for feed in self.feeds { feeds.addTask { await feed.run() } }
                }
            }
            group.addTask {
                for await _ in self.retirement.cancelOnGracefulShutdown() {}
                // If the task was cancelled, return, which cancels the feeds.
                guard !Task.isCancelled else { return }
                for feed in self.feeds { feed.queue.close() }
                try? await Task.sleep(for: grace)
            }
            await group.next()
            group.cancelAll()
        }
    }
}

/// Counts the lines for one kind of receiver.
///
/// Every line is eventually counted as delivered or dropped.
struct HookMeters: Sendable {
    /// Lines accepted by the receiver's end.
    let delivered: Counter
    /// Lines rejected because the queue was full, or still queued when the server stopped.
    let dropped: Counter

    init(_ kind: OperatorChannel.Kind, _ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            let dimensions = [("hook", kind.rawValue), ("outcome", outcome)]
            return Counter(label: "remote_pin_hook_events_total", dimensions: dimensions, factory: factory)
        }
        self.delivered = counter("delivered")
        self.dropped = counter("dropped")
    }
}
