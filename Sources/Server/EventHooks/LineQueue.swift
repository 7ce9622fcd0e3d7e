internal import NIOCore
internal import Synchronization

/// Lines for one receiver, up to a number: what comes when it is full is dropped and counted.
///
/// Whoever offers a line never waits, so a receiver cannot slow what the line is about. A line stays until it was
/// delivered: a receiver that is started again begins with the one it may have missed.
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

    /// Queues a line; otherwise how many were dropped since somebody was told, this one included.
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

    /// The oldest line, waiting for it; nil once the queue is closed and empty, or when the task is cancelled.
    ///
    /// One task at a time may ask.
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
                let goesOn = self.state.withLock { state in
                    guard state.lines.isEmpty, !state.isClosed, !Task.isCancelled else { return true }
                    precondition(state.waiter == nil, "one task at a time takes lines")
                    state.waiter = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            self.wake()
        }
    }

    private func wake() {
        self.state.withLock { $0.waiter.take() }?.resume()
    }

    /// The oldest line was delivered.
    func removeFirst() {
        self.state.withLock { state in
            state.lines.removeFirst()
            state.delivered += 1
        }
    }

    /// How many lines were dropped and nobody was told of; from now on somebody was.
    func takeDropped() -> Int {
        self.state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    /// Whoever was to be told of dropped lines has not taken it.
    func putBack(dropped: Int) {
        self.state.withLock { $0.dropped += dropped }
    }

    /// Takes no more lines; those that wait can still be delivered.
    func close() {
        self.state.withLock { $0.isClosed = true }
        self.wake()
    }

    /// Lines that wait, lines that were delivered, and whether any more come.
    var counts: (waiting: Int, delivered: Int, isClosed: Bool) {
        self.state.withLock { ($0.lines.count, $0.delivered, $0.isClosed) }
    }
}
