internal import Dispatch
internal import HostSystem
internal import Vocabulary

/// Whether what `wait` waits for happens in time.
///
/// Tests await an end through this: the end of a connection cannot be cancelled, so that a test which waits for it in vain
/// would hang instead of failing. The time is no measure; it is far beyond what anything takes.
package func happens(
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

/// Whether a condition comes to hold in time, for what tells nobody when it happens.
package func eventually(_ condition: @escaping @Sendable () async -> Bool) async -> Bool {
    await happens { while await !condition(), !Task.isCancelled { await Task.yield() } }
}

/// Whether a process has not ended yet.
///
/// One that has ended and that nobody has waited for is still in the kernel's table, where `kill(2)` finds it: whose parent
/// is gone stays there until the first process of the machine asks, which it may do late.
package func isRunning(_ process: Int32) -> Bool {
    guard let stat = try? DurableFile.read("/proc/\(process)/stat", atMost: 4096) else { return false }
    // The state comes behind the name, which may hold anything (proc(5)).
    guard let state = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ").first
    else {
        return false
    }
    return state != "Z" && state != "X"
}
