internal import Synchronization

/// One instruction of a wallet at a time, on whichever of its connections it came; the others wait in the order in which
/// they came.
///
/// A phone never has two on their way. Whoever sends many for one wallet at once, to be quicker than a block or to wear
/// the server out, would otherwise have a processor for each: so a wallet that is hammered keeps one busy at the most,
/// and the next commit holds one step of it beside those of everybody else.
final class InstructionLane: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []

        mutating func take() -> Bool {
            defer { self.isTaken = true }
            return !self.isTaken
        }
    }

    private let state = Mutex(State())

    /// How many wait for their turn.
    var waitingCount: Int { self.state.withLock { $0.waiting.count } }

    /// Waits for the turn; ``leave()`` must follow.
    func enter() async {
        if self.state.withLock({ $0.take() }) { return }
        await withCheckedContinuation { continuation in
            let isFree = self.state.withLock { state in
                if state.take() { return true }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// Lets the next one have its turn.
    func leave() {
        let next: CheckedContinuation<Void, Never>? = self.state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
