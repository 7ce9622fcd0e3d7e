internal import BatchVerification
internal import Synchronization
internal import WalletStore

/// A queue of signatures from all connections on an event loop, which are verified as a batch.
///
/// In each event loop tick, the first task yields, so that other tasks that are ready can add their claims. The batch
/// is verified when the first task resumes. The executor, `EventLoopTaskExecutor`, guarantees that a task that yields
/// resumes after all tasks that are ready.
///
/// A batch waits for claims that have not arrived yet only during a large commit, which its steps could not join
/// anyway. It then waits until it is large or the commit ends.
final class SignatureBatcher: Sendable {
    private struct Batch {
        var claims: [SignatureClaim] = []
        /// The continuations for all claims except the first.
        var continuations: [CheckedContinuation<Bool, Never>] = []
        /// The continuation of the first task while it waits for further claims.
        var first: CheckedContinuation<Void, Never>?
    }

    /// The number of claims at which a batch stops waiting for more.
    static let largeBatch = 16
    /// The minimum number of steps in a commit during which batches wait.
    ///
    /// With fewer connections than that, no batch waits.
    static let largeCommit = 24

    private let batch = Mutex(Batch())
    private let steps: ExpectedSteps
    private let verify: @Sendable ([SignatureClaim]) -> [Bool]

    /// - Parameters:
    ///   - steps: The steps of the store that the claims belong to.
    ///   - verify: Returns the verdict on each claim, in the order of the claims.
    init(
        for steps: ExpectedSteps,
        verify: @escaping @Sendable ([SignatureClaim]) -> [Bool] = SignatureClaim.areTrue
    ) {
        self.steps = steps
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
            let (isTaken, isLarge) = self.batch.withLock { batch in
                guard !batch.claims.isEmpty else { return (true, false) }
                batch.claims.append(claim)
                batch.continuations.append(continuation)
                return (false, batch.claims.count >= Self.largeBatch)
            }
            if isTaken { continuation.resume(returning: self.verify([claim])[0]) }
            if isLarge { self.resumeFirst() }
        }
    }

    /// Lets other ready tasks add their claims, verifies the batch, and returns the verdict on the first claim.
    private func verifyBatch() async -> Bool {
        await Task.yield()
        await self.waitForClaims()
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

    /// Waits for further claims during a large commit.
    private func waitForClaims() async {
        await withCheckedContinuation { continuation in
            let isSmall = self.batch.withLock { batch in
                batch.first = continuation
                return batch.claims.count < Self.largeBatch
            }
            let waits = isSmall && self.steps.afterCommit(ofAtLeast: Self.largeCommit) { self.resumeFirst() }
            if !waits { self.resumeFirst() }
        }
    }

    private func resumeFirst() {
        self.batch.withLock { $0.first.take() }?.resume()
    }
}

/// The batchers for all event loops.
final class SignatureBatchers: Sendable {
    private let batchers = Mutex<[ObjectIdentifier: SignatureBatcher]>([:])
    private let steps: ExpectedSteps

    init(for steps: ExpectedSteps) {
        self.steps = steps
    }

    /// The batcher for an event loop.
    subscript(eventLoop: ObjectIdentifier) -> SignatureBatcher {
        self.batchers.withLock { batchers in
            if let batcher = batchers[eventLoop] { return batcher }
            let batcher = SignatureBatcher(for: self.steps)
            batchers[eventLoop] = batcher
            return batcher
        }
    }
}
