internal import Statements
internal import Vocabulary
internal import WalletStore

/// The production store, of which a server learns the outcome of a wallet's session or attempt late.
///
/// The server then opens shares for its answer in the same job.
struct HinderedStore: WalletStore {
    let store: any WalletStore
    /// Waits as long as the server is hindered.
    let wait: @Sendable () async -> Void

    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        let outcome = try await self.store.beginSession(session)
        await self.wait()
        return outcome
    }

    func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        let outcome = try await self.store.judge(attempt)
        await self.wait()
        return outcome
    }

    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        try await self.store.identity(of: wallet)
    }

    func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        try await self.store.perform(step)
    }

    func isSolutionRevoked() async throws(StoreError) -> Bool { try await self.store.isSolutionRevoked() }

    var newestRoot: SignedRoot? { self.store.newestRoot }
    var commitLatency: CommitLatency { self.store.commitLatency }
    var expectedSteps: ExpectedSteps { self.store.expectedSteps }
    var limits: StepLimits { self.store.limits }
    var sweepCursor: SweepCursor { self.store.sweepCursor }
}
