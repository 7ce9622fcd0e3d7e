internal import Synchronization

/// A value whose changes can be followed by subscribers.
///
/// Each subscriber receives the current value first and then the newest one. A slow subscriber misses intermediate
/// values but never the latest.
final class Broadcast<Value: Hashable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var subscribers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextID = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) {
        self.state = Mutex(State(value: value))
    }

    deinit {
        let subscribers = self.state.withLock { $0.subscribers.values.map(\.self) }
        for subscriber in subscribers { subscriber.finish() }
    }

    /// Sends the value to all subscribers, unless it equals the current value, and returns whether it was sent.
    @discardableResult
    func send(_ value: Value) -> Bool {
        self.state.withLock { state in
            guard value != state.value else { return false }
            state.value = value
            for subscriber in state.subscribers.values { subscriber.yield(value) }
            return true
        }
    }

    /// Returns a new stream for the caller.
    ///
    /// All streams finish when this object is deallocated.
    func values() -> AsyncStream<Value> {
        let (stream, subscriber) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { state in
            defer { state.nextID += 1 }
            state.subscribers[state.nextID] = subscriber
            subscriber.yield(state.value)
            return state.nextID
        }
        subscriber.onTermination = { [weak self] _ in
            // This cannot deadlock, because we never finish a stream while holding the lock.
            _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }
}
