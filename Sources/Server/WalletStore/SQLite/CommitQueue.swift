internal import Dispatch
internal import Synchronization

/// Steps that wait for the next commit, and the one thread that takes them.
///
/// Whoever finds the thread idle wakes it, and what arrives while a commit is being synced forms the next batch. A single
/// caller never waits for others. Where steps came in company, the next batch is given a moment to gather, since a
/// commit and its sync cost about as much for forty steps as for four (docs/performance.md).
final class CommitQueue: Sendable {
    /// The most steps that share one commit.
    static let largestBatch = 256
    /// Steps in the batch before from which on the next one gathers, and how long it does so at the most.
    private static let company = 4
    private static let gathering = DispatchTimeInterval.milliseconds(5)

    /// One atomic step of one caller.
    struct PendingStep: Sendable {
        /// Runs the step.
        ///
        /// What it returns lets the answer out; it is called once the batch is durable, never before.
        let run: @Sendable (StoreConnection) throws -> @Sendable () -> Void
        /// Answers that nothing was done.
        let refuse: @Sendable (StoreError) -> Void
    }

    private struct State {
        var waiting: [PendingStep] = []
        /// Since when the first of them waits.
        var since = ContinuousClock.now
        var isIdle = false
        /// Steps of the batch before.
        var lastCount = 0
        /// So many steps end the gathering.
        var gathersUntil = Int.max
        var isClosed = false
        var hasEnded = false
        var onEnd: [CheckedContinuation<Void, Never>] = []

        /// Those that wait, as many as may share a commit; most often that is all of them, and none is copied.
        mutating func takeBatch() -> [PendingStep] {
            guard self.waiting.count > CommitQueue.largestBatch else {
                defer { self.waiting = [] }
                return self.waiting
            }
            let batch = Array(self.waiting.prefix(CommitQueue.largestBatch))
            self.waiting.removeFirst(batch.count)
            return batch
        }
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let meters: StoreMeters

    init(meters: StoreMeters = .none) {
        self.meters = meters
    }

    /// How many steps wait.
    var count: Int { self.state.withLock { $0.waiting.count } }

    /// Runs a step in the next batch and returns what it returned once that is durable.
    func perform<Answer: Sendable>(
        _ step: @escaping @Sendable (StoreConnection) throws -> Answer
    ) async throws(StoreError) -> Answer {
        let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Answer, StoreError>, Never>) in
            self.enqueue(
                PendingStep(
                    run: { connection in
                        let answer = try step(connection)
                        return { waiter.resume(returning: .success(answer)) }
                    },
                    refuse: { waiter.resume(returning: .failure($0)) }
                )
            )
        }
        return try result.get()
    }

    /// Runs something on the store's thread between two transactions, after the next batch was answered.
    ///
    /// What it does there keeps everybody waiting: some hundreds of microseconds at the most.
    func betweenBatches<Answer: Sendable>(
        _ chore: @escaping @Sendable (StoreConnection) -> Answer
    ) async throws(StoreError) -> Answer {
        let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Answer, StoreError>, Never>) in
            self.enqueue(
                PendingStep(
                    run: { connection in
                        connection.chores.append { waiter.resume(returning: .success(chore(connection))) }
                        return {}
                    },
                    refuse: { waiter.resume(returning: .failure($0)) }
                )
            )
        }
        return try result.get()
    }

    private func enqueue(_ step: PendingStep) {
        let (isTaken, mustWake) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            // One look at the clock for each batch.
            if state.waiting.isEmpty { state.since = .now }
            state.waiting.append(step)
            defer { state.isIdle = false }
            return (true, state.isIdle || state.waiting.count == state.gathersUntil)
        }
        if mustWake { self.wake.signal() }
        if !isTaken { step.refuse(.unavailable) }
    }

    /// Waits for steps; nil once the queue is closed and empty.
    func nextBatch() -> [PendingStep]? {
        self.gather()
        while true {
            let (batch, since, isClosed) = self.state.withLock { state in
                let since = state.since
                let batch = state.takeBatch()
                state.since = .now
                state.isIdle = batch.isEmpty && !state.isClosed
                state.lastCount = batch.count
                return (batch, since, state.isClosed)
            }
            if !batch.isEmpty {
                self.meters.wait.record(.now - since)
                return batch
            }
            if isClosed { return nil }
            self.wake.wait()
        }
    }

    /// Where there is company, lets twice as many steps arrive as the batch before had, or the time pass.
    private func gather() {
        let gathers = self.state.withLock { state in
            guard state.lastCount >= Self.company, !state.isClosed else { return false }
            state.gathersUntil = min(2 * state.lastCount, Self.largestBatch)
            return state.waiting.count < state.gathersUntil
        }
        // A signal that comes too late only has the loop look once more.
        if gathers { _ = self.wake.wait(timeout: .now() + Self.gathering) }
        self.state.withLock { $0.gathersUntil = .max }
    }

    /// Takes no further steps; those that wait are still done.
    func close() {
        let mustWake = self.state.withLock { state in
            state.isClosed = true
            defer { state.isIdle = false }
            return state.isIdle
        }
        if mustWake { self.wake.signal() }
    }

    /// Returns when the thread has let go of the files.
    func ended() async {
        await withCheckedContinuation { waiter in
            let hasEnded = self.state.withLock { state in
                if !state.hasEnded { state.onEnd.append(waiter) }
                return state.hasEnded
            }
            if hasEnded { waiter.resume() }
        }
    }

    /// Called by the thread, last.
    func end() {
        let waiters = self.state.withLock { state in
            state.hasEnded = true
            defer { state.onEnd = [] }
            return state.onEnd
        }
        for waiter in waiters { waiter.resume() }
    }
}
