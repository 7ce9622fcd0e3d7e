internal import Dispatch
internal import Vocabulary

/// Whether what `wait` waits for happens in time.
///
/// Tests await an end through this: the end of a connection cannot be cancelled, so that a test which waits for it in vain
/// would hang instead of failing. The time is no measure; it is far beyond what anything takes.
public func happens(
    within limit: Duration = TestWallet.patience,
    _ wait: @escaping @Sendable () async -> Void
) async -> Bool {
    let (ends, source) = AsyncStream<Bool>.makeStream()
    // Not a child, which this function could not return without.
    let waiting = Task {
        await wait()
        source.yield(true)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit.milliseconds))) {
        source.yield(false)
    }
    var happened = ends.makeAsyncIterator()
    let hasHappened = await happened.next() ?? false
    waiting.cancel()
    return hasHappened
}
