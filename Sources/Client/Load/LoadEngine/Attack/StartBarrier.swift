internal import Synchronization

/// A barrier that releases all tasks at the same time, once the last one has arrived.
final class StartBarrier: Sendable {
    private let count: Int
    private let onRelease: @Sendable () -> Void
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    /// - Parameter onRelease: Called just before the release.
    init(count: Int, onRelease: @escaping @Sendable () -> Void) {
        self.count = count
        self.onRelease = onRelease
    }

    /// Returns once all tasks have arrived.
    func arrive() async {
        await withCheckedContinuation { continuation in
            let released = self.waiting.withLock { waiting -> [CheckedContinuation<Void, Never>] in
                waiting.append(continuation)
                guard waiting.count == self.count else { return [] }
                defer { waiting = [] }
                return waiting
            }
            guard !released.isEmpty else { return }
            self.onRelease()
            for continuation in released { continuation.resume() }
        }
    }
}
