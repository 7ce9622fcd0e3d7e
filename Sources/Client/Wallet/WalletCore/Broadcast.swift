internal import Synchronization

/// A value that changes, and everybody who follows it.
///
/// Each follower hears the present value first and then the newest one: who is slow misses what is over, never what is.
final class Broadcast<Value: Hashable & Sendable>: Sendable {
    private struct State {
        var value: Value
        var followers: [Int: AsyncStream<Value>.Continuation] = [:]
        var nextID = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) {
        self.state = Mutex(State(value: value))
    }

    deinit {
        let followers = self.state.withLock { $0.followers.values.map(\.self) }
        for follower in followers { follower.finish() }
    }

    /// Tells the followers, if it is another value than before; whether it is.
    @discardableResult
    func send(_ value: Value) -> Bool {
        self.state.withLock { state in
            guard value != state.value else { return false }
            state.value = value
            for follower in state.followers.values { follower.yield(value) }
            return true
        }
    }

    /// A stream of its own for each who asks; it ends with whoever sends.
    func values() -> AsyncStream<Value> {
        let (stream, follower) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let id = self.state.withLock { state in
            defer { state.nextID += 1 }
            state.followers[state.nextID] = follower
            follower.yield(state.value)
            return state.nextID
        }
        follower.onTermination = { [weak self] _ in
            // Nobody is told under the lock that ends a stream, so this never waits for itself.
            _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
        }
        return stream
    }
}
