internal import Logging
internal import Metrics
internal import ServiceLifecycle
internal import Vocabulary

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
