internal import Logging
internal import Metrics
internal import Synchronization
internal import Vocabulary

/// Brings the lines of one queue to one receiver, and tries again whatever happens there.
struct EventFeed: Sendable {
    let receiver: any EventReceiver
    let queue: LineQueue
    let limits: EventHooks.Limits
    let clock: any WallClock
    let log: Logger
    let meters: HookMeters

    /// Delivers until the queue is closed and empty, or the task is cancelled.
    func run() async {
        var pause = self.limits.firstPause
        while !Task.isCancelled {
            let before = self.queue.counts.delivered
            let failure = await self.deliver()
            let after = self.queue.counts
            guard !after.isClosed, !Task.isCancelled, let failure else { break }
            self.log.warning(
                "a hook takes no events",
                metadata: ["hook": "\(self.receiver.name)", "reason": "\(failure)", "waiting": "\(after.waiting)"]
            )
            // One that took some was well: only one that takes none is asked less and less often.
            pause = after.delivered > before ? self.limits.firstPause : min(pause * 2, self.limits.longestPause)
            guard (try? await Task.sleep(for: pause)) != nil else { break }
        }
        let waiting = self.queue.counts.waiting
        self.meters.dropped.increment(by: waiting)
        let lost = waiting + self.queue.takeDropped()
        guard lost > 0 else { return }
        self.log.error("events were not delivered", metadata: ["hook": "\(self.receiver.name)", "count": "\(lost)"])
    }

    /// One life of the receiver; nil where there was nothing more to deliver.
    private func deliver() async -> ReceiverFailure? {
        let write = PendingWrite()
        return await withTaskGroup(of: ReceiverFailure?.self) { group in
            group.addTask {
                do throws(ReceiverFailure) {
                    try await self.receiver.open { writer in try await self.feed(writer, noting: write) }
                    return nil
                } catch {
                    return error
                }
            }
            group.addTask { await self.stall(of: write) }
            let first = await group.next()
            group.cancelAll()
            return first ?? nil
        }
    }

    private func feed(_ writer: LineWriter, noting write: PendingWrite) async throws {
        while let line = await self.queue.first() {
            write.begin()
            let dropped = self.queue.takeDropped()
            if dropped > 0 { try await self.tell(dropped, to: writer) }
            try await writer(line)
            write.end()
            self.queue.removeFirst()
            self.meters.delivered.increment()
        }
    }

    private func tell(_ dropped: Int, to writer: LineWriter) async throws {
        do {
            try await writer(EventLine(number: 0, time: self.clock.now(), what: .dropped(dropped)).bytes)
        } catch {
            self.queue.putBack(dropped: dropped)
            throw error
        }
        self.log.error("events were dropped", metadata: ["hook": "\(self.receiver.name)", "count": "\(dropped)"])
    }

    /// Returns when a line has been on its way for too long; nil when cancelled.
    private func stall(of write: PendingWrite) async -> ReceiverFailure? {
        while (try? await Task.sleep(for: self.limits.patience / 4)) != nil {
            if write.hasLasted(self.limits.patience) { return .stalled(self.limits.patience) }
        }
        return nil
    }
}

/// Since when a line has been on its way.
private final class PendingWrite: Sendable {
    private let start = Mutex<ContinuousClock.Instant?>(nil)

    func begin() { self.start.withLock { $0 = .now } }
    func end() { self.start.withLock { $0 = nil } }
    func hasLasted(_ limit: Duration) -> Bool { self.start.withLock { $0.map { .now - $0 >= limit } ?? false } }
}
