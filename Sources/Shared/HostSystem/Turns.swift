internal import Synchronization

/// One at a time for each key, in the order in which they come; others go on beside it.
package final class Turns<Key: Hashable & Sendable>: Sendable {
    /// A key that is not here is free.
    private let lines = Mutex<[Key: TurnLine]>([:])

    package init() {}

    /// Waits for the turn; ``end(_:)`` must follow.
    package func begin(_ key: Key) async {
        await withCheckedContinuation { continuation in
            let hasTurn = self.lines.withLock { $0[key, default: TurnLine()].join(continuation) }
            if hasTurn { continuation.resume() }
        }
    }

    /// Lets the next one have its turn.
    package func end(_ key: Key) {
        let next = self.lines.withLock { lines in
            let next = lines[key]?.next()
            if next == nil { lines[key] = nil }
            return next
        }
        next?.resume()
    }

    /// How many wait for their turn.
    package func waitingCount(_ key: Key) -> Int { self.lines.withLock { $0[key]?.count ?? 0 } }

    /// Runs `body` when no other runs for this key.
    package func alone<Result: Sendable, Failure: Error>(
        _ key: Key,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await self.begin(key)
        defer { self.end(key) }
        return try await body()
    }
}

/// Who has a turn and who waits for it, first come first served; a value for a lock of its owner.
package struct TurnLine: Sendable {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    package init() {}

    /// How many wait.
    package var count: Int { self.waiting.count }

    /// Takes the turn where it is free; says whether it was.
    package mutating func take() -> Bool {
        defer { self.isTaken = true }
        return !self.isTaken
    }

    /// Takes the turn, or waits for it; says whether it was free, and whoever came then goes on by itself.
    package mutating func join(_ newcomer: CheckedContinuation<Void, Never>) -> Bool {
        if self.take() { return true }
        self.waiting.append(newcomer)
        return false
    }

    /// Ends a turn: who has the next one and is to be resumed, outside the lock; nil where it is free now.
    package mutating func next() -> CheckedContinuation<Void, Never>? {
        guard !self.waiting.isEmpty else {
            self.isTaken = false
            return nil
        }
        return self.waiting.removeFirst()
    }
}
