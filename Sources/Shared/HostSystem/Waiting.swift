package import Dispatch
internal import Synchronization

/// A lock that can be held across suspension points.
///
/// Waiting tasks acquire the lock in the order they arrived.
package final class AsyncLock: Sendable {
    private let lock = KeyedAsyncLock<Bool>()

    package init() {}

    package var waitingCount: Int { self.lock.waitingCount(true) }

    /// Acquires the lock if it is free, and returns whether it was.
    package func acquireIfFree() -> Bool { self.lock.acquireIfFree(true) }

    /// Waits for the lock.
    ///
    /// The caller must call ``release()`` when it is done.
    package func acquire() async { await self.lock.acquire(true) }

    /// Passes the lock to the next waiting task.
    package func release() { self.lock.release(true) }
}

/// A separate ``AsyncLock`` for each key.
///
/// Tasks with different keys do not wait for each other.
package final class KeyedAsyncLock<Key: Hashable & Sendable>: Sendable {
    /// The tasks waiting for each lock that is held, in order of arrival.
    private let waiting = Mutex<[Key: [CheckedContinuation<Void, Never>]]>([:])

    package init() {}

    package func waitingCount(_ key: Key) -> Int { self.waiting.withLock { $0[key]?.count ?? 0 } }

    /// Acquires a key's lock if it is free, and returns whether it was.
    ///
    /// - Parameter continuation: Joins the queue if the lock is held.
    fileprivate func acquireIfFree(_ key: Key, orQueue continuation: CheckedContinuation<Void, Never>? = nil) -> Bool {
        self.waiting.withLock { waiting in
            guard waiting[key] != nil else {
                waiting[key] = []
                return true
            }
            if let continuation { waiting[key]?.append(continuation) }
            return false
        }
    }

    /// Waits for a key's lock.
    ///
    /// The caller must call ``release(_:)`` when it is done.
    package func acquire(_ key: Key) async {
        if self.acquireIfFree(key) { return }
        await withCheckedContinuation { continuation in
            if self.acquireIfFree(key, orQueue: continuation) { continuation.resume() }
        }
    }

    /// Passes a key's lock to the next waiting task.
    package func release(_ key: Key) {
        let next = self.waiting.withLock { waiting in
            let isWaitedFor = waiting[key]?.isEmpty == false
            if !isWaitedFor { waiting[key] = nil }
            return isWaitedFor ? waiting[key]?.removeFirst() : nil
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
