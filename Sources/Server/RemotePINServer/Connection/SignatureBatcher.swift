internal import BatchVerification
internal import Synchronization

/// A queue of signatures from the connections of one event loop, which are verified in one batch.
///
/// The first task of an event loop tick yields, and the tasks that are ready then add their claims;
/// the batch is verified when the first task resumes. No claim waits for data that has not arrived.
/// The executor, `EventLoopTaskExecutor`, guarantees that a task which yields resumes after the
/// ready ones.
final class SignatureBatcher: Sendable {
    private struct Batch {
        var claims: [SignatureClaim] = []
        /// The continuations of all claims but the first.
        var continuations: [CheckedContinuation<Bool, Never>] = []
    }

    private let batch = Mutex(Batch())
    private let verify: @Sendable ([SignatureClaim]) -> [Bool]

    /// - Parameter verify: Returns the verdict on each claim, in the order of the claims.
    init(verify: @escaping @Sendable ([SignatureClaim]) -> [Bool] = SignatureClaim.areTrue) {
        self.verify = verify
    }

    /// Whether the claim is true.
    func isTrue(_ claim: SignatureClaim) async -> Bool {
        let isFirst = self.batch.withLock { batch in
            guard batch.claims.isEmpty else { return false }
            batch.claims.append(claim)
            return true
        }
        if isFirst { return await self.verifyBatch() }
        return await withCheckedContinuation { continuation in
            // If the first task runs on another thread, it may have taken the batch by now:
            // verify this claim alone.
            let isTaken = self.batch.withLock { batch in
                guard !batch.claims.isEmpty else { return true }
                batch.claims.append(claim)
                batch.continuations.append(continuation)
                return false
            }
            if isTaken { continuation.resume(returning: self.verify([claim])[0]) }
        }
    }

    /// Lets the ready tasks add their claims, then verifies the batch; returns the verdict on the
    /// first claim.
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

/// The batchers of all event loops.
final class SignatureBatchers: Sendable {
    private let batchers = Mutex<[ObjectIdentifier: SignatureBatcher]>([:])

    /// The batcher of an event loop.
    subscript(eventLoop: ObjectIdentifier) -> SignatureBatcher {
        self.batchers.withLock { batchers in
            if let batcher = batchers[eventLoop] { return batcher }
            let batcher = SignatureBatcher()
            batchers[eventLoop] = batcher
            return batcher
        }
    }
}
