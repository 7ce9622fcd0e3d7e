internal import ChildPrograms
internal import Logging
internal import Metrics
internal import NIOCore
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

    /// Runs the receiver once; returns nil if there are no more lines to deliver.
    private func deliver() async -> ReceiverFailure? {
        let write = WriteTimer()
        let messages = ProgramMessages.logged("message of the hook", ["hook": "\(self.receiver.name)"], in: self.log)
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

/// A bounded queue of lines for one receiver.
///
/// If it is full, further lines are dropped and counted. Producers never wait, so a receiver cannot slow down PIN
/// checks. A line stays queued until it has been delivered, so a reopened receiver starts with the line that it may
/// have missed.
final class LineQueue: Sendable {
    private struct State {
        var lines = CircularBuffer<[UInt8]>()
        var dropped = 0
        var delivered = 0
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// Queues a line.
    ///
    /// If it is dropped, returns the number of lines dropped since the last report, including this one.
    func offer(_ line: [UInt8]) -> Int? {
        let (dropped, waiter) = self.state.withLock { state -> (Int?, CheckedContinuation<Void, Never>?) in
            guard !state.isClosed, state.lines.count < self.capacity else {
                state.dropped += 1
                return (state.dropped, nil)
            }
            state.lines.append(line)
            return (nil, state.waiter.take())
        }
        waiter?.resume()
        return dropped
    }

    /// Waits for the oldest line.
    ///
    /// Returns nil once the queue is closed and empty, or if the task is cancelled. At most one task may wait.
    func first() async -> [UInt8]? {
        while !Task.isCancelled {
            let (line, isOver) = self.state.withLock { ($0.lines.first, $0.isClosed && $0.lines.isEmpty) }
            if let line { return line }
            if isOver { return nil }
            await self.wait()
        }
        return nil
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumesNow = self.state.withLock { state in
                    guard state.lines.isEmpty, !state.isClosed, !Task.isCancelled else { return true }
                    precondition(state.waiter == nil, "only one task at a time may take lines")
                    state.waiter = continuation
                    return false
                }
                if resumesNow { continuation.resume() }
            }
        } onCancel: {
            self.wake()
        }
    }

    private func wake() { self.state.withLock { $0.waiter.take() }?.resume() }

    /// Removes the oldest line after it has been delivered.
    func removeFirst() {
        self.state.withLock { state in
            state.lines.removeFirst()
            state.delivered += 1
        }
    }

    /// Returns the number of dropped lines that have not been reported yet, and resets it.
    func takeDropped() -> Int {
        self.state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    /// Restores a count returned by ``takeDropped()`` if its report was not delivered.
    func putBack(dropped: Int) { self.state.withLock { $0.dropped += dropped } }

    /// Rejects further lines.
    ///
    /// Queued lines can still be delivered.
    func close() {
        self.state.withLock { $0.isClosed = true }
        self.wake()
    }

    /// The number of queued and delivered lines, and whether the queue is closed.
    var counts: (waiting: Int, delivered: Int, isClosed: Bool) {
        self.state.withLock { ($0.lines.count, $0.delivered, $0.isClosed) }
    }
}
