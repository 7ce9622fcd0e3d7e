internal import COpenSSL
internal import Synchronization

/// A pool of reusable objects, each lent to one caller at a time.
///
/// It grows to the largest number of objects that were in use at once.
final class ScratchPool<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    /// Lends an object to `body` exclusively.
    ///
    /// Removes the errors that libcrypto adds to the thread's error queue in `body`.
    func withValue<Result>(orNew make: () -> Value, _ body: (Value) -> Result) -> Result {
        let value = self.values.withLock { $0.popLast() } ?? make()
        defer { self.values.withLock { $0.append(value) } }
        return discardingErrors { body(value) }
    }
}

/// Removes the errors that libcrypto adds to the thread's error queue in `body`; the result already reports
/// the failure.
func discardingErrors<Result>(_ body: () -> Result) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return body()
}
