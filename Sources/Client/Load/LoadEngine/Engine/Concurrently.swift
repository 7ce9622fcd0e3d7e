/// Calls `body` for each number below `count`, up to `width` at a time, until one call fails.
///
/// Returns the results of the successful calls and the first failure. After a failure, the calls in progress are
/// cancelled and no further calls are started.
/// - Parameter onSuccess: Called with the number of successful calls so far.
func concurrently<Success: Sendable, Failure: Error>(
    _ count: Int,
    width: Int = 32,
    onSuccess: (Int) -> Void = { _ in },
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Success
) async -> (successes: [Success], failure: Failure?) {
    await withTaskGroup(of: Result<Success, Failure>.self) { group in
        var (successes, next) = ([Success](), 0)
        var failure: Failure?
        func begin() {
            guard next < count, failure == nil else { return }
            let number = next
            next += 1
            group.addTask {
                do throws(Failure) { return .success(try await body(number)) } catch { return .failure(error) }
            }
        }
        for _ in 0..<width { begin() }
        for await result in group {
            switch result {
            case .success(let success):
                successes.append(success)
                onSuccess(successes.count)
                begin()
            case .failure(let error):
                failure = failure ?? error
                group.cancelAll()
            }
        }
        return (successes, failure)
    }
}
