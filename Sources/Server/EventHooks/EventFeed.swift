internal import ChildPrograms
internal import Logging
internal import Metrics
internal import Synchronization
internal import Vocabulary

/// Delivers the lines in a queue to a receiver and reopens the receiver after each failure.
struct EventFeed: Sendable {
    let receiver: any EventReceiver
    let queue: LineQueue
    let limits: EventHooks.Limits
    let clock: any WallClock
    let log: Logger
    let meters: HookMeters

    /// Delivers lines until the queue is closed and empty, or the task is cancelled.
    func run() async {
        var pause = self.limits.initialBackoff
        while !Task.isCancelled {
            let before = self.queue.counts.delivered
            let failure = await self.deliver()
            let after = self.queue.counts
            guard !after.isClosed, !Task.isCancelled, let failure else { break }
            self.log.warning(
                "the hook accepts no events; delivery is retried",
                metadata: ["hook": "\(self.receiver.name)", "reason": "\(failure)", "waiting": "\(after.waiting)"]
            )
            // Increase the back-off only while the receiver accepts no lines at all.
            pause = after.delivered > before ? self.limits.initialBackoff : min(pause * 2, self.limits.maximumBackoff)
            guard (try? await Task.sleep(for: pause)) != nil else { break }
        }
        let waiting = self.queue.counts.waiting
        self.meters.dropped.increment(by: waiting)
        let lost = waiting + self.queue.takeDropped()
        guard lost > 0 else { return }
        self.log.error("events were not delivered", metadata: ["hook": "\(self.receiver.name)", "count": "\(lost)"])
    }

    /// Runs the receiver once.
    ///
    /// Returns nil if there are no more lines to deliver.
    private func deliver() async -> ReceiverFailure? {
        let write = WriteTimer()
        let messages = ProgramMessages { [log = self.log, name = self.receiver.name] line, suppressed in
            var metadata: Logger.Metadata = ["hook": "\(name)", "text": "\(line)"]
            if suppressed > 0 { metadata["unwritten"] = "\(suppressed)" }
            log.warning("message of the hook", metadata: metadata)
        }
        return await withTaskGroup(of: ReceiverFailure?.self) { group in
            group.addTask {
                do throws(ReceiverFailure) {
                    try await self.receiver.open(messages: messages) { try await self.feed($0, noting: write) }
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask { await self.timeout(of: write) }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    private func feed(_ writer: LineWriter, noting write: WriteTimer) async throws {
        while let line = await self.queue.first() {
            write.begin()
            let dropped = self.queue.takeDropped()
            if dropped > 0 { try await self.reportDropped(dropped, to: writer) }
            try await writer(line)
            write.end()
            self.queue.removeFirst()
            self.meters.delivered.increment()
        }
    }

    private func reportDropped(_ dropped: Int, to writer: LineWriter) async throws {
        do {
            try await writer(EventLine(number: 0, time: self.clock.now(), content: .dropped(dropped)).bytes)
        } catch {
            self.queue.putBack(dropped: dropped)
            throw error
        }
        self.log.error("events were dropped", metadata: ["hook": "\(self.receiver.name)", "count": "\(dropped)"])
    }

    /// Returns a failure if a write exceeds the timeout, or nil if the task is cancelled.
    private func timeout(of write: WriteTimer) async -> ReceiverFailure? {
        while (try? await Task.sleep(for: self.limits.writeTimeout / 4)) != nil {
            if write.hasLasted(self.limits.writeTimeout) { return .stalled(self.limits.writeTimeout) }
        }
        return nil
    }
}

/// The start time of the write in progress, if any.
private final class WriteTimer: Sendable {
    private let start = Mutex<ContinuousClock.Instant?>(nil)

    func begin() { self.start.withLock { $0 = .now } }
    func end() { self.start.withLock { $0 = nil } }
    func hasLasted(_ limit: Duration) -> Bool { self.start.withLock { $0.map { .now - $0 >= limit } ?? false } }
}
