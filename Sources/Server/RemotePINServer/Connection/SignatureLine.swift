internal import BatchVerification
internal import Synchronization

/// Signatures of one event loop's connections, verified together where they come together.
///
/// The first of a turn of the event loop waits until the other tasks that are ready have had their turn; whatever they
/// brought is then verified at once. Nobody waits for anything that has not been read yet. That a task which yields comes
/// after those that are ready is its executor's doing, `EventLoopTaskExecutor`.
final class SignatureLine: Sendable {
    private struct Waiting {
        var claims: [SignatureClaim] = []
        /// Of all but the first.
        var continuations: [CheckedContinuation<Bool, Never>] = []
    }

    private let waiting = Mutex(Waiting())
    private let verify: @Sendable ([SignatureClaim]) -> [Bool]

    /// - Parameter verify: which of the claims are true, in their order.
    init(verify: @escaping @Sendable ([SignatureClaim]) -> [Bool] = SignatureClaim.areTrue) {
        self.verify = verify
    }

    /// Whether the claim is true.
    func isTrue(_ claim: SignatureClaim) async -> Bool {
        let isFirst = self.waiting.withLock { waiting in
            guard waiting.claims.isEmpty else { return false }
            waiting.claims.append(claim)
            return true
        }
        if isFirst { return await self.verifyTogether() }
        return await withCheckedContinuation { continuation in
            // Taken meanwhile, where another thread runs the first one: then this one is alone.
            let isTaken = self.waiting.withLock { waiting in
                guard !waiting.claims.isEmpty else { return true }
                waiting.claims.append(claim)
                waiting.continuations.append(continuation)
                return false
            }
            if isTaken { continuation.resume(returning: self.verify([claim])[0]) }
        }
    }

    /// Verifies what has come until the tasks that are ready now have run; whether the first of them is true.
    private func verifyTogether() async -> Bool {
        await Task.yield()
        let waiting = self.waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return waiting
        }
        let verdicts = self.verify(waiting.claims)
        for (continuation, isTrue) in zip(waiting.continuations, verdicts.dropFirst()) {
            continuation.resume(returning: isTrue)
        }
        return verdicts[0]
    }
}

/// The lines of all event loops.
final class SignatureLines: Sendable {
    private let lines = Mutex<[ObjectIdentifier: SignatureLine]>([:])

    /// The one of this event loop.
    func line(of eventLoop: ObjectIdentifier) -> SignatureLine {
        self.lines.withLock { lines in
            if let line = lines[eventLoop] { return line }
            let line = SignatureLine()
            lines[eventLoop] = line
            return line
        }
    }
}
