package import Logging
package import Metrics
internal import ServiceLifecycle
internal import Synchronization
package import Vocabulary

/// Tells programs and sockets of an operator's what happens to wallets, at the moment when it does.
///
/// Whoever tells it something does not wait: each receiver has a queue of its own that drops what it has no room for.
/// Delivery is an attempt, not a promise: what must not be lost is in the audit log and the store.
package final class EventHooks: Sendable {
    /// How much waits, and for how long.
    package struct Limits: Sendable {
        /// Lines that wait for one receiver; further ones are dropped.
        package var capacity = 4096
        /// One that takes no line for this long is cut off, and opened again.
        package var patience: Duration = .seconds(10)
        /// Before a receiver that failed is opened again; twice as long each time that it took nothing.
        package var firstPause: Duration = .milliseconds(250)
        package var longestPause: Duration = .seconds(30)
        /// For what waits when the server stops.
        package var farewell: Duration = .seconds(2)

        package init() {}
    }

    private let feeds: [EventFeed]
    private let limits: Limits
    private let clock: any WallClock
    private let log: Logger
    /// Of the last event.
    private let number = Mutex<UInt64>(0)

    /// - Parameter metrics: where it is counted what receivers got and what they did not.
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

    /// Makes the series of every kind of receiver, so that one which is set up later does not begin in the middle.
    package static func announce(to metrics: any MetricsFactory) {
        for kind in EventReceiverKind.allCases { _ = HookMeters(kind, metrics) }
    }

    /// Queues an event for every receiver; never waits for one.
    package func tell(_ event: WalletIncident) {
        // Numbered and queued in one: a receiver takes a gap for a lost event.
        let untold = self.number.withLock { number in
            number += 1
            let line = EventLine(number: number, time: self.clock.now(), what: .wallet(event)).bytes
            return self.feeds.map { $0.queue.offer(line) }
        }
        for case (let feed, let untold?) in zip(self.feeds, untold) {
            feed.meters.dropped.increment()
            // The first one; how many there were is said when the receiver takes lines again.
            if untold == 1 { self.log.error("events are dropped", metadata: ["hook": "\(feed.receiver.name)"]) }
        }
    }

    /// Ends the programs that were started, with all that they have started: this process ends next.
    ///
    /// The end of their input tells them the same, but nobody makes them listen to it.
    package func endAtOnce() {
        for feed in self.feeds { feed.receiver.endAtOnce() }
    }

    /// Delivers until graceful shutdown, then what waits, for a moment; or until cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withDiscardingTaskGroup { feeds in
                    for feed in self.feeds { feeds.addTask { await feed.run() } }
                }
            }
            group.addTask {
                // Throws when cancelled, which ends the feeds as well.
                guard (try? await gracefulShutdown()) != nil else { return }
                for feed in self.feeds { feed.queue.close() }
                try? await Task.sleep(for: self.limits.farewell)
            }
            await group.next()
            group.cancelAll()
        }
    }
}
