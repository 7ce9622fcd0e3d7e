internal import HostSystem
internal import Synchronization

/// One instruction of a wallet at a time, on whichever of its connections it came; the others wait in the order in which
/// they came.
///
/// A phone never has two on their way. Whoever sends many for one wallet at once, to be quicker than a block or to wear
/// the server out, would otherwise have a processor for each: so a wallet that is hammered keeps one busy at the most,
/// and the next commit holds one step of it beside those of everybody else.
///
/// ``Turns`` for one key alone, held by the wallet's connections: an instruction looks nothing up for it.
final class InstructionLane: Sendable {
    private let line = Mutex(TurnLine())

    /// How many wait for their turn.
    var waitingCount: Int { self.line.withLock(\.count) }

    /// Waits for the turn; ``leave()`` must follow.
    func enter() async {
        if self.line.withLock({ $0.take() }) { return }
        await withCheckedContinuation { continuation in
            let hasTurn = self.line.withLock { $0.join(continuation) }
            if hasTurn { continuation.resume() }
        }
    }

    /// Lets the next one have its turn.
    func leave() {
        self.line.withLock { $0.next() }?.resume()
    }
}
