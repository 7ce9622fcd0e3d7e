internal import Synchronization

/// One at a time for each key, in the order in which they come; others go on beside it.
final class Turns<Key: Hashable & Sendable>: Sendable {
    private let waiting = Mutex<[Key: [CheckedContinuation<Void, Never>]]>([:])

    /// Waits for the turn; ``end(_:)`` must follow.
    func begin(_ key: Key) async {
        await withCheckedContinuation { continuation in
            let isFree = self.waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next one have its turn.
    func end(_ key: Key) {
        let next = self.waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
            guard waiting[key]?.isEmpty == false else {
                waiting[key] = nil
                return nil
            }
            return waiting[key]?.removeFirst()
        }
        next?.resume()
    }
}
