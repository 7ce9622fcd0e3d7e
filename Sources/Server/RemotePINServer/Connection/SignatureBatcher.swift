internal import BatchVerification
internal import Synchronization

/// A queue of signatures from all connections on an event loop, which are verified as a batch.
///
/// In each event loop tick, the first task yields, so that other tasks that are ready can add their claims. The batch
/// is verified when the first task resumes. No claim has to wait for data that has not arrived yet. The executor,
/// `EventLoopTaskExecutor`, guarantees that a task that yields resumes after all tasks that are ready.
final class SignatureBatcher: Sendable {
    private struct Batch {
        var claims: [SignatureClaim] = []
        /// The continuations for all claims except the first.
        var continuations: [CheckedContinuation<Bool, Never>] = []
    }

    private let batch = Mutex(Batch())
    private let verify: @Sendable ([SignatureClaim]) -> [Bool]

    /// - Parameter verify: Returns the verdict on each claim, in the order of the claims.
    init(verify: @escaping @Sendable ([SignatureClaim]) -> [Bool] = SignatureClaim.areTrue) {
        self.verify = verify
    }

    /// Returns whether the claim is true.
    func isTrue(_ claim: SignatureClaim) async -> Bool {
        let isFirst = self.batch.withLock { batch in
            guard batch.claims.isEmpty else { return false }
            batch.claims.append(claim)
            return true
        }
        if isFirst { return await self.verifyBatch() }
        return await withCheckedContinuation { continuation in
            // If the first task runs on another thread, it may have taken the batch already. In that case, verify this
            // claim separately.
            let isTaken = self.batch.withLock { batch in
                guard !batch.claims.isEmpty else { return true }
                batch.claims.append(claim)
                batch.continuations.append(continuation)
                return false
            }
            if isTaken { continuation.resume(returning: self.verify([claim])[0]) }
        }
    }

    /// Lets other ready tasks add their claims, verifies the batch, and returns the verdict on the first claim.
    private func verifyBatch() async -> Bool {
        await Task.yield()
        let batch = self.batch.withLock { batch in
            defer { batch = Batch() }
            return batch
        }
        let verdicts = self.verify(batch.claims)
        for (continuation, isTrue) in zip(batch.continuations, verdicts.dropFirst()) {
            continuation.resume(returning: isTrue)
        }
        return verdicts[0]
    }
}

/// The batchers for all event loops.
final class SignatureBatchers: Sendable {
    private let batchers = Mutex<[ObjectIdentifier: SignatureBatcher]>([:])

    /// The batcher for an event loop.
    subscript(eventLoop: ObjectIdentifier) -> SignatureBatcher {
        self.batchers.withLock { batchers in
            if let batcher = batchers[eventLoop] { return batcher }
            let batcher = SignatureBatcher()
            batchers[eventLoop] = batcher
            return batcher
        }
    }
}
