package import Logging
package import Metrics
internal import ServiceLifecycle
internal import Synchronization
package import Vocabulary

/// Reports wallet events to the operator's programs and sockets as they happen.
///
/// Callers never wait: each receiver has its own queue, which drops lines when it is full. Delivery
/// is best effort; the audit log and the store are the durable records.
package final class EventHooks: Sendable {
    /// Queue capacity and delivery timeouts.
    package struct Limits: Sendable {
        /// The number of lines queued for one receiver; further lines are dropped.
        package var capacity = 4096
        /// The time after which a receiver that takes no line is closed and reopened.
        package var writeTimeout: Duration = .seconds(10)
        /// The back-off before a failed receiver is reopened; it doubles each time the receiver took no line.
        package var initialBackoff: Duration = .milliseconds(250)
        package var maximumBackoff: Duration = .seconds(30)
        /// The time for delivering queued lines when the server stops.
        package var shutdownGrace: Duration = .seconds(2)

        package init() {}
    }

    private let feeds: [EventFeed]
    private let limits: Limits
    private let clock: any WallClock
    private let log: Logger
    /// The number of the last event.
    private let number = Mutex<UInt64>(0)

    /// - Parameter metrics: receives the counts of delivered and dropped lines.
    package init(
        _ receivers: [any EventReceiver],
        limits: Limits = Limits(),
        clock: any WallClock,
        log: Logger,
        metrics: any MetricsFactory = NOOPMetricsHandler.instance
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
        self.limits = limits
        self.clock = clock
        self.log = log
    }

    /// Creates the series of every receiver kind, so that each starts at 0 even if no receiver of the kind is set.
    package static func announce(to metrics: any MetricsFactory) {
        for kind in EventReceiverKind.allCases { _ = HookMeters(kind, metrics) }
    }

    /// Queues an event for every receiver without waiting.
    package func report(_ event: WalletIncident) {
        // Numbering and queueing are one step: a receiver takes a gap in the numbers for a lost event.
        let droppedCounts = self.number.withLock { number in
            number += 1
            let line = EventLine(number: number, time: self.clock.now(), content: .wallet(event)).bytes
            return self.feeds.map { $0.queue.offer(line) }
        }
        for case (let feed, let droppedCount?) in zip(self.feeds, droppedCounts) {
            feed.meters.dropped.increment()
            // Only the first drop is logged here; the feed logs the total when the receiver takes lines again.
            if droppedCount == 1 { self.log.error("events are dropped", metadata: ["hook": "\(feed.receiver.name)"]) }
        }
    }

    /// Kills the started programs and all their children, because this process is about to exit.
    ///
    /// A program would also see the end of its input, but may ignore it.
    package func endAtOnce() {
        for feed in self.feeds { feed.receiver.endAtOnce() }
    }

    /// Delivers lines until graceful shutdown, then queued lines for a limited time; stops at once if cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { feeds in
                    for feed in self.feeds { feeds.addTask { await feed.run() } }
                }
            }
            group.addTask {
                // Throws if cancelled, which also cancels the feeds.
                guard (try? await gracefulShutdown()) != nil else { return }
                for feed in self.feeds { feed.queue.close() }
                try? await Task.sleep(for: self.limits.shutdownGrace)
            }
            await group.next()
            group.cancelAll()
        }
    }
}
