internal import COpenSSL
internal import Synchronization

/// Those of a kind that nobody uses at present; no more than have been used at the same time.
final class Idle<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])

    /// Lends one for as long as `body` runs, to nobody else meanwhile.
    ///
    /// The errors that libcrypto puts into the thread's queue in `body` are taken out again.
    func withOne<Result>(orNew make: () -> Value, _ body: (Value) -> Result) -> Result {
        let value = self.values.withLock { $0.popLast() } ?? make()
        defer { self.values.withLock { $0.append(value) } }
        return withoutErrors { body(value) }
    }
}

/// Takes the errors that libcrypto puts into the thread's queue meanwhile out again; they say nothing beyond a result.
func withoutErrors<Result>(_ body: () -> Result) -> Result {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return body()
}
