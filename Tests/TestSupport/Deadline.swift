internal import Dispatch
internal import HostSystem
internal import Vocabulary

/// Returns true if `wait` returns in time.
///
/// Tests use this to await ends that cannot be cancelled, such as that of a connection. Without it, a test that
/// waits in vain would hang instead of failing. The timeout is far above any real duration and measures
/// nothing.
package func happens(
    within limit: Duration = TestWallet.patience,
    _ wait: @escaping @Sendable () async -> Void
) async -> Bool {
    let (ends, source) = AsyncStream<Bool>.makeStream()
    // Not a child task, because this function could not return before it ended.
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

/// Polls a condition and returns true if it becomes true in time, for events without a notification.
package func eventually(_ condition: @escaping @Sendable () async -> Bool) async -> Bool {
    await happens { while await !condition(), !Task.isCancelled { await Task.yield() } }
}

/// Polls a condition until it is true, for a test that cannot continue otherwise.
///
/// - Throws: ``DidNotHappen`` after ``TestWallet/patience``, or the condition's error.
package func poll(until condition: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + TestWallet.patience
    while try await !condition() {
        guard .now < end else { throw DidNotHappen() }
        await Task.yield()
    }
}

/// A condition did not become true in time.
package struct DidNotHappen: Error {}

/// Returns true if a process has not ended yet.
///
/// An ended process that its parent has not awaited stays in the kernel's table, where `kill(2)` finds it. If
/// the parent has ended too, it stays until the machine's first process awaits it, which can be late.
package func isRunning(_ process: Int32) -> Bool {
    guard let stat = try? DurableFile.read("/proc/\(process)/stat", atMost: 4096) else { return false }
    // The state follows the name, which can contain any character (proc(5)).
    guard let state = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ").first
    else {
        return false
    }
    return state != "Z" && state != "X"
}
