internal import NIOCore
internal import Synchronization

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

    init(capacity: Int) {
        self.capacity = capacity
    }

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

    private func wake() {
        self.state.withLock { $0.waiter.take() }?.resume()
    }

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
    func putBack(dropped: Int) {
        self.state.withLock { $0.dropped += dropped }
    }

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
