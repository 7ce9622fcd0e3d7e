internal import COpenSSL
internal import Synchronization

/// A pool of reusable objects, each lent to one caller at a time.
///
/// It grows to the maximum number of objects in use at the same time.
package final class ScratchPool<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    package init() {}

    /// Lends an object exclusively to `body`.
    ///
    /// Discards the errors that libcrypto adds to the thread's error queue while `body` runs.
    package func withValue<Result>(orNew make: () -> Value, _ body: (Value) -> Result) -> Result {
        let value = self.values.withLock { $0.popLast() } ?? make()
        defer { self.values.withLock { $0.append(value) } }
        return discardingErrors { body(value) }
    }
}

/// Discards the errors that libcrypto adds to the thread's error queue while `body` runs.
///
/// Its result reports the failure instead.
package func discardingErrors<Result>(_ body: () -> Result) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return body()
}
