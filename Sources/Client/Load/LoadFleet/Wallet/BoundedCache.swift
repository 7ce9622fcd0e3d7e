internal import Synchronization

/// A cache of values that can be computed again.
final class BoundedCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let values = Mutex<[Key: Value]>([:])
    private let limit: Int

    /// - Parameter limit: The maximum number of values.
    init(limit: Int) {
        self.limit = limit
    }

    /// A value, or nil if it is not cached.
    ///
    /// A new value for a full cache replaces all others. Replacing the oldest one would require the order of use, and
    /// would not help a run that visits more wallets in turn than the cache can hold.
    subscript(key: Key) -> Value? {
        get { self.values.withLock { $0[key] } }
        set {
            self.values.withLock { values in
                if values.count >= self.limit, values[key] == nil { values.removeAll(keepingCapacity: true) }
                values[key] = newValue
            }
        }
    }
}
