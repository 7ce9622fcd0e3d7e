internal import Synchronization

/// Holds tasks back until all are there, and lets them go at once.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        /// Who waits until so many have come.
        var watcher: (count: Int, continuation: CheckedContinuation<Void, Never>)?
    }

    private let state = Mutex(State())

    /// Returns when the gate is opened.
    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watcher) = self.state.withLock { state in
                if state.isOpen { return (true, nil as CheckedContinuation<Void, Never>?) }
                state.waiting.append(continuation)
                guard let watcher = state.watcher, state.waiting.count >= watcher.count else { return (false, nil) }
                state.watcher = nil
                return (false, watcher.continuation)
            }
            if isOpen { continuation.resume() }
            watcher?.resume()
        }
    }

    /// Returns once so many wait.
    func isReached(by count: Int) async {
        await withCheckedContinuation { continuation in
            let isReached = self.state.withLock { state in
                guard state.waiting.count < count else { return true }
                state.watcher = (count, continuation)
                return false
            }
            if isReached { continuation.resume() }
        }
    }

    func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
