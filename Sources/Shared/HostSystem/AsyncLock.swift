internal import Synchronization

/// A lock that a task may hold across suspensions; waiting tasks acquire it in the order of their
/// arrival.
package final class AsyncLock: Sendable {
    private let waiters = Mutex(LockWaiters())

    package init() {}

    /// The number of waiting tasks.
    package var waitingCount: Int { self.waiters.withLock(\.count) }

    /// Waits for the lock; ``release()`` must follow.
    package func acquire() async {
        if self.waiters.withLock({ $0.acquireIfFree() }) { return }
        await withCheckedContinuation { continuation in
            let isAcquired = self.waiters.withLock { $0.acquire(continuation) }
            if isAcquired { continuation.resume() }
        }
    }

    /// Passes the lock to the next waiting task.
    package func release() {
        self.waiters.withLock { $0.release() }?.resume()
    }
}

/// One ``AsyncLock`` for each key; locks of different keys do not wait for each other.
package final class KeyedAsyncLock<Key: Hashable & Sendable>: Sendable {
    /// A key without an entry is free.
    private let waiters = Mutex<[Key: LockWaiters]>([:])

    package init() {}

    /// The number of tasks that wait for a key.
    package func waitingCount(_ key: Key) -> Int { self.waiters.withLock { $0[key]?.count ?? 0 } }

    /// Waits for a key's lock; ``release(_:)`` must follow.
    package func acquire(_ key: Key) async {
        await withCheckedContinuation { continuation in
            let isAcquired = self.waiters.withLock { $0[key, default: LockWaiters()].acquire(continuation) }
            if isAcquired { continuation.resume() }
        }
    }

    /// Passes a key's lock to the next waiting task.
    package func release(_ key: Key) {
        let next = self.waiters.withLock { waiters in
            let next = waiters[key]?.release()
            if next == nil { waiters[key] = nil }
            return next
        }
        next?.resume()
    }

    /// Runs `body` while holding a key's lock.
    package func withLock<Result: Sendable, Failure: Error>(
        _ key: Key,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await self.acquire(key)
        defer { self.release(key) }
        return try await body()
    }
}

/// The holder and the waiting tasks of one lock, first come, first served; its owner guards it with
/// a mutex.
private struct LockWaiters {
    private var isHeld = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// The number of waiting tasks.
    var count: Int { self.waiting.count }

    /// Acquires the lock if it is free; returns whether it was.
    mutating func acquireIfFree() -> Bool {
        defer { self.isHeld = true }
        return !self.isHeld
    }

    /// Acquires the lock or joins the queue; returns whether it was free, and the caller must then
    /// resume the task.
    mutating func acquire(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        if self.acquireIfFree() { return true }
        self.waiting.append(continuation)
        return false
    }

    /// Releases the lock; returns the task that holds it next, to be resumed outside the mutex, or
    /// nil if it is free.
    mutating func release() -> CheckedContinuation<Void, Never>? {
        guard !self.waiting.isEmpty else {
            self.isHeld = false
            return nil
        }
        return self.waiting.removeFirst()
    }
}
