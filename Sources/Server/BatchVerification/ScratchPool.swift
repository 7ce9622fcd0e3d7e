internal import COpenSSL
internal import Synchronization

/// A pool of reusable objects, each of which is lent to one caller at a time.
///
/// It grows to the largest number of objects that have been in use at the same time.
final class ScratchPool<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    /// Lends an object exclusively to `body`.
    ///
    /// Removes the errors that libcrypto adds to the thread's error queue while `body` runs.
    func withValue<Result>(orNew make: () -> Value, _ body: (Value) -> Result) -> Result {
        let value = self.values.withLock { $0.popLast() } ?? make()
        defer { self.values.withLock { $0.append(value) } }
        return discardingErrors { body(value) }
    }
}

/// Removes the errors that libcrypto adds to the thread's error queue while `body` runs, because its result reports the
/// failure.
func discardingErrors<Result>(_ body: () -> Result) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return body()
}
