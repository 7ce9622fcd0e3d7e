package import Dispatch
internal import Synchronization

/// The queue of steps for the next commit.
///
/// Wakes the thread that runs them. A caller that finds the thread idle wakes it. Steps that arrive while a commit is
/// being synced form the next batch, so batches grow with the load. The sync costs the same for any number of steps. A
/// batch therefore also waits for steps that are expected soon (``ExpectedSteps``), but no longer than the previous
/// batch took. A lone caller never waits for others.
///
/// Steps that only read wait no longer than the commit in progress, because the thread answers them between two
/// transactions.
final class CommitQueue: Sendable {
    /// The maximum number of steps that share one commit.
    static let largestBatch = 256

    /// An atomic step submitted by one caller.
    struct PendingStep: Sendable {
        /// Runs the step and returns a function that sends the answer.
        ///
        /// The writer calls that function only after the batch has become durable.
        let run: @Sendable (StoreConnection) throws -> @Sendable () -> Void
        /// Tells the caller that the step was not done, and why.
        let refuse: @Sendable (StoreError) -> Void
        /// Runs the step outside a transaction if it writes nothing.
        ///
        /// Returns a function that sends the answer, or nil if the step must run in a transaction. The property itself
        /// is nil for steps that always write.
        var read: (@Sendable (StoreConnection) throws -> (@Sendable () -> Void)?)?
    }

    private struct State {
        /// Steps that might not need to write.
        ///
        /// They run before the next transaction.
        var reads: [PendingStep] = []
        var waiting: [PendingStep] = []
        /// The time at which the first waiting step was added.
        var since = ContinuousClock.now
        var isIdle = false
        /// Whether the thread is waiting for expected steps.
        var isGathering = false
        var isClosed = false

        var isEmpty: Bool { self.waiting.isEmpty && self.reads.isEmpty }

        mutating func add(_ step: PendingStep) {
            // Read the clock only once per batch.
            if self.waiting.isEmpty { self.since = .now }
            self.waiting.append(step)
        }

        /// Takes the waiting steps, up to the maximum batch size.
        ///
        /// Usually that is all of them, and nothing is copied.
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
    private let wake: any StoreWake
    private let meters: StoreMeters
    /// The steps expected soon.
    let expected = ExpectedSteps()
    /// The moment at which the thread has closed the files.
    let end = ThreadEnd()
    /// The longest time that a batch waits for expected steps, no matter how slow the disk is.
    private let longestGathering: Duration

    init(
        meters: StoreMeters = .none,
        longestGathering: Duration = .milliseconds(1),
        wake: any StoreWake = DispatchSemaphore(value: 0)
    ) {
        self.wake = wake
        self.meters = meters
        self.longestGathering = longestGathering
    }

    /// The number of waiting steps.
    var count: Int { self.state.withLock { $0.waiting.count + $0.reads.count } }

    /// Whether the thread is waiting for expected steps.
    var isGathering: Bool { self.state.withLock(\.isGathering) }

    /// Runs a step in the next batch and returns its result once the batch is durable.
    func perform<Answer: Sendable>(
        _ step: @escaping @Sendable (StoreConnection) throws -> Answer
    ) async throws(StoreError) -> Answer {
        try await self.perform(step) { .success($0) }
    }

    /// Runs a step in the next batch.
    ///
    /// Once the batch is durable, returns the answer derived by `answer` from the result.
    func perform<Found: Sendable, Answer: Sendable>(
        _ step: @escaping @Sendable (StoreConnection) throws -> Found,
        answering answer: @escaping @Sendable (Found) -> Result<Answer, StoreError>
    ) async throws(StoreError) -> Answer {
        let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Answer, StoreError>, Never>) in
            self.enqueue(
                PendingStep(
                    run: { connection in
                        let found = try step(connection)
                        return { waiter.resume(returning: answer(found)) }
                    },
                    refuse: { waiter.resume(returning: .failure($0)) }
                )
            )
        }
        return try result.get()
    }

    /// Runs a step that usually writes nothing.
    ///
    /// It runs between two transactions, or in the next batch if `read` returns nil or throws.
    func perform<Answer: Sendable>(
        reading read: @escaping @Sendable (StoreConnection) throws -> Answer?,
        otherwise step: @escaping @Sendable (StoreConnection) throws -> Answer
    ) async throws(StoreError) -> Answer {
        let result = await withCheckedContinuation { (waiter: CheckedContinuation<Result<Answer, StoreError>, Never>) in
            self.enqueue(
                PendingStep(
                    run: { connection in
                        let answer = try step(connection)
                        return { waiter.resume(returning: .success(answer)) }
                    },
                    refuse: { waiter.resume(returning: .failure($0)) },
                    read: { connection in
                        guard let answer = try read(connection) else { return nil }
                        return { waiter.resume(returning: .success(answer)) }
                    }
                )
            )
        }
        return try result.get()
    }

    /// Runs work on the store's thread between two transactions.
    ///
    /// It is refused only if the queue is closed, and not if a batch fails. All callers wait for it, so it must not
    /// take more than a few hundred microseconds.
    func betweenBatches<Answer: Sendable>(
        _ chore: @escaping @Sendable (StoreConnection) -> Answer
    ) async throws(StoreError) -> Answer {
        try await self.perform(reading: { chore($0) }, otherwise: { _ in throw StoreError.unavailable })
    }

    private func enqueue(_ step: PendingStep) {
        let (isTaken, mustWake) = self.state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            defer { state.isIdle = false }
            guard step.read == nil else {
                state.reads.append(step)
                return (true, state.isIdle)
            }
            state.add(step)
            let isComplete = state.isGathering && (self.expected.isNone || state.waiting.count >= Self.largestBatch)
            if isComplete { state.isGathering = false }
            return (true, state.isIdle || isComplete)
        }
        if mustWake { self.wake.signal() }
        if !isTaken { step.refuse(.unavailable) }
    }

    /// Waits for steps; returns nil once the queue is closed and empty.
    ///
    /// - Parameters:
    ///   - previous: How long the previous batch took, or zero if there was none.
    ///   - read: Answers a step that writes nothing. Returns false if the step must join the batch.
    func nextBatch(after previous: Duration, _ read: (PendingStep) -> Bool) -> [PendingStep]? {
        while true {
            let (reads, isEmpty, isClosed) = self.state.withLock { state in
                defer { state.reads = [] }
                state.isIdle = state.isEmpty && !state.isClosed
                return (state.reads, state.waiting.isEmpty, state.isClosed)
            }
            let mustWrite = self.answer(reads, read)
            guard isEmpty, !mustWrite else { break }
            if !reads.isEmpty { continue }
            if isClosed { return nil }
            self.wake.wait()
        }
        _ = self.answer(self.gather(atMost: min(previous, self.longestGathering)), read)
        let (batch, since) = self.state.withLock { state in
            let since = state.since
            let batch = state.takeBatch()
            state.since = .now
            return (batch, since)
        }
        self.meters.wait.record(.now - since)
        return batch
    }

    /// Answers steps that write nothing, and adds the others to the batch; returns whether there were others.
    private func answer(_ reads: [PendingStep], _ read: (PendingStep) -> Bool) -> Bool {
        let writes = reads.filter { !read($0) }
        if !writes.isEmpty { self.state.withLock { state in writes.forEach { state.add($0) } } }
        return !writes.isEmpty
    }

    /// Waits until no more steps are expected or the time is up.
    ///
    /// Takes and returns the steps that only read and arrived in the meantime.
    private func gather(atMost limit: Duration) -> [PendingStep] {
        guard !self.expected.isNone, limit > .zero else { return [] }
        let gathers = self.state.withLock { state in
            state.isGathering = !state.isClosed && state.waiting.count < Self.largestBatch
            return state.isGathering
        }
        // A late signal only causes one extra pass of the loop above.
        if gathers { self.wake.wait(atMost: limit) }
        return self.state.withLock { state in
            state.isGathering = false
            defer { state.reads = [] }
            return state.reads
        }
    }

    /// Rejects further steps.
    ///
    /// Steps that are already waiting still run.
    func close() {
        let mustWake = self.state.withLock { state in
            state.isClosed = true
            defer { state.isIdle = false }
            return state.isIdle
        }
        if mustWake { self.wake.signal() }
    }

}

/// The end of a thread, which callers wait for.
package final class ThreadEnd: Sendable {
    private let state = Mutex((hasEnded: false, waiting: [CheckedContinuation<Void, Never>]()))

    package init() {}

    package var isReached: Bool { self.state.withLock { $0.hasEnded } }

    /// Returns after the thread has ended.
    package func reached() async {
        await withCheckedContinuation { waiter in
            let hasEnded = self.state.withLock { state in
                if !state.hasEnded { state.waiting.append(waiter) }
                return state.hasEnded
            }
            if hasEnded { waiter.resume() }
        }
    }

    /// Called by the thread itself.
    package func reach() {
        let waiters = self.state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// Counts the steps that are expected soon because their calls have been read and are being verified.
///
/// A commit waits briefly for these steps instead of leaving them to the next commit. An expected step may never
/// arrive, because its verification can fail.
package final class ExpectedSteps: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    /// Records a call that will become a step unless it fails.
    ///
    /// The caller must call ``end()`` afterwards.
    package func begin() { self.count.add(1, ordering: .relaxed) }

    /// Records that an expected step is about to be submitted, or that it will never be.
    package func end() { self.count.subtract(1, ordering: .relaxed) }

    /// Whether no step is expected.
    var isNone: Bool { self.count.load(ordering: .relaxed) == 0 }
}

/// The signal by which callers wake the store's thread; a simulator decides when the thread continues.
package protocol StoreWake: Sendable {
    /// Lets one call of ``wait()`` return, now or later.
    @discardableResult
    func signal() -> Int

    /// Waits for a signal.
    func wait()

    /// Waits for a signal, at most this long.
    func wait(atMost limit: Duration)
}

extension DispatchSemaphore: StoreWake {
    package func wait(atMost limit: Duration) {
        _ = self.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
    }
}
