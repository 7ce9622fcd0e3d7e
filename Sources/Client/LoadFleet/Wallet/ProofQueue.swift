internal import Synchronization

/// Lets the proofs of one iOS wallet be made one at a time, each answered before the next.
///
/// App Attest counters must arrive in their order: of two on their way at once, over two connections, the later may
/// arrive first, and the server refuses the other.
final class ProofQueue: Sendable {
    /// Those that wait, by the wallet's slot; a slot that is not here is free.
    private let waiting = Mutex<[Int: [CheckedContinuation<Void, Never>]]>([:])

    /// Runs `body` when no other runs for this slot.
    func alone<Result: Sendable, Failure: Error>(
        _ slot: Int,
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await self.enter(slot)
        defer { self.leave(slot) }
        return try await body()
    }

    private func enter(_ slot: Int) async {
        await withCheckedContinuation { continuation in
            let isFree = self.waiting.withLock { waiting in
                guard waiting[slot] != nil else {
                    waiting[slot] = []
                    return true
                }
                waiting[slot]?.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave(_ slot: Int) {
        let next: CheckedContinuation<Void, Never>? = self.waiting.withLock { waiting in
            guard var queue = waiting[slot], !queue.isEmpty else {
                waiting[slot] = nil
                return nil
            }
            let next = queue.removeFirst()
            waiting[slot] = queue
            return next
        }
        next?.resume()
    }
}
