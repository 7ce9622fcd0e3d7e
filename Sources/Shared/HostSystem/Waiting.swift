package import Dispatch
internal import Synchronization

/// A lock that can be held across suspension points.
///
/// Waiting tasks acquire the lock in the order they arrived.
package final class AsyncLock: Sendable {
    private let waiters = Mutex(LockWaiters())

    package init() {}

    package var waitingCount: Int { self.waiters.withLock(\.count) }

    /// Acquires the lock if it is free, and returns whether it was.
    package func acquireIfFree() -> Bool { self.waiters.withLock { $0.acquireIfFree() } }

    /// Waits for the lock.
    ///
    /// The caller must call ``release()`` when it is done.
    package func acquire() async {
        if self.acquireIfFree() { return }
        await withCheckedContinuation { continuation in
            let isAcquired = self.waiters.withLock { $0.acquire(continuation) }
            if isAcquired { continuation.resume() }
        }
    }

    /// Passes the lock to the next waiting task.
    package func release() { self.waiters.withLock { $0.release() }?.resume() }
}

/// A separate ``AsyncLock`` for each key.
///
/// Tasks with different keys do not wait for each other.
package final class KeyedAsyncLock<Key: Hashable & Sendable>: Sendable {
    /// If a key has no entry, its lock is free.
    private let waiters = Mutex<[Key: LockWaiters]>([:])

    package init() {}

    package func waitingCount(_ key: Key) -> Int { self.waiters.withLock { $0[key]?.count ?? 0 } }

    /// Waits for a key's lock.
    ///
    /// The caller must call ``release(_:)`` when it is done.
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

    package func withLock<Result: Sendable, Failure: Error>(
        _ key: Key,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await self.acquire(key)
        defer { self.release(key) }
        return try await body()
    }
}

/// The state of a lock, and the tasks waiting for it in order of arrival.
///
/// The owner must protect this with a mutex.
private struct LockWaiters {
    private var isHeld = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    var count: Int { self.waiting.count }

    /// Acquires the lock if it is free, and returns whether it was.
    mutating func acquireIfFree() -> Bool {
        defer { self.isHeld = true }
        return !self.isHeld
    }

    /// Acquires the lock or joins the queue.
    ///
    /// Returns true if the lock was free, in which case the caller must resume the task.
    mutating func acquire(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        if self.acquireIfFree() { return true }
        self.waiting.append(continuation)
        return false
    }

    /// Releases the lock and returns the task that holds it next, or nil if there is none.
    ///
    /// The caller must resume the task after unlocking the mutex.
    mutating func release() -> CheckedContinuation<Void, Never>? {
        guard !self.waiting.isEmpty else {
            self.isHeld = false
            return nil
        }
        return self.waiting.removeFirst()
    }
}

/// Runs `body`, then closes its resource, even if `body` throws.
package func closing<Result, Failure>(
    _ close: @autoclosure () async -> Void,
    after body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
    do throws(Failure) {
        let result = try await body()
        await close()
        return result
    } catch {
        await close()
        throw error
    }
}

/// Runs `body` and cancels it after a time limit.
///
/// Returns nil if it was cancelled because of the limit or along with its task.
///
/// - Parameters:
///   - limit: The time limit, or nil for none.
///   - body: The work, which must return soon after it is cancelled.
package func finished<Value: Sendable>(
    within limit: Duration?,
    _ body: @escaping @Sendable () async -> Value
) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        if let limit { group.addTask { await timePassed(limit) } }
        defer { group.cancelAll() }
        let first = await group.next() ?? nil
        return Task.isCancelled ? nil : first
    }
}

/// Returns nil after `duration`, or when the task is cancelled.
private func timePassed<Value>(_ duration: Duration) async -> Value? {
    try? await Task.sleep(for: duration)
    return nil
}

/// Runs work that blocks, such as a sync, in order and away from the threads of tasks; returns before the work is done.
///
/// A simulator decides when the work runs.
package typealias BlockingWork = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

extension DispatchQueue {
    /// Creates a serial queue for work that blocks.
    package static func blockingWork(_ label: String) -> BlockingWork {
        let queue = DispatchQueue(label: label)
        return { work in queue.async { work() } }
    }
}
