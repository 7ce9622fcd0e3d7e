internal import Synchronization
package import Vocabulary
package import WalletStore

/// A gate that delays answers of the store while it is closed.
package final class Gate: Sendable {
    private struct State {
        var isClosed = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watching: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func close() { self.state.withLock { $0.isClosed = true } }

    package func open() {
        let held = self.state.withLock { state in
            state.isClosed = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    /// Returns once an answer is delayed.
    package func isReached() async {
        await withCheckedContinuation { continuation in
            let isReached = self.state.withLock { state in
                if state.held.isEmpty { state.watching.append(continuation) }
                return !state.held.isEmpty
            }
            if isReached { continuation.resume() }
        }
    }

    package func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watching): (Bool, [CheckedContinuation<Void, Never>]) = self.state.withLock { state in
                guard state.isClosed else { return (true, []) }
                state.held.append(continuation)
                defer { state.watching = [] }
                return (false, state.watching)
            }
            if isOpen { continuation.resume() }
            for watcher in watching { watcher.resume() }
        }
    }
}

/// A store whose verdicts and sessions pass a gate before they return; revocations do not.
package struct GatedStore: WalletStore {
    private let store: any WalletStore
    private let gate: Gate
    /// Called before and after each end of wallets; an error that it throws fails the step.
    private let watch: @Sendable (Moment) async throws(StoreError) -> Void
    /// Called when an attempt is passed to the store and when its outcome returns; an error that it throws replaces
    /// the outcome.
    private let judging: @Sendable (WalletID, _ isDone: Bool) throws(StoreError) -> Void
    /// Called before last sessions are written; an error that it throws fails the step.
    private let keeping: @Sendable () throws(StoreError) -> Void
    /// Called when a step that a wallet waits for is committed; an error that it throws replaces the outcome.
    private let committed: @Sendable () throws(StoreError) -> Void

    /// A moment in a step that ends wallets.
    package enum Moment {
        case beforeCommit
        case afterCommit
    }

    package init(
        store: any WalletStore,
        gate: Gate,
        watch: @escaping @Sendable (Moment) async throws(StoreError) -> Void = {
            (_: Moment) throws(StoreError) in
        },
        judging: @escaping @Sendable (WalletID, _ isDone: Bool) throws(StoreError) -> Void = {
            (_: WalletID, _: Bool) throws(StoreError) in
        },
        keeping: @escaping @Sendable () throws(StoreError) -> Void = { () throws(StoreError) in },
        committed: @escaping @Sendable () throws(StoreError) -> Void = { () throws(StoreError) in }
    ) {
        self.store = store
        self.gate = gate
        self.watch = watch
        self.judging = judging
        self.keeping = keeping
        self.committed = committed
    }

    /// - Parameter destroys: Whether the step destroys shares; otherwise the log is not emptied for it.
    private func watched<Result>(
        destroys: Bool = true,
        _ step: () async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        try await self.watch(.beforeCommit)
        let result = try await step()
        try self.committed()
        do throws(StoreError) {
            try await self.watch(.afterCommit)
        } catch {
            if destroys || error != .notErased { throw error }
        }
        return result
    }

    package var newestRoot: SignedRoot? { self.store.newestRoot }

    package func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        try self.judging(attempt.walletID, false)
        let outcome: CertifiedOutcome
        do throws(StoreError) {
            outcome = try await self.store.judge(attempt)
        } catch {
            try self.judging(attempt.walletID, true)
            throw error
        }
        try self.committed()
        await self.gate.pass()
        try self.judging(attempt.walletID, true)
        return outcome
    }

    package func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        let outcome = try await self.store.beginSession(session)
        try self.committed()
        await self.gate.pass()
        return outcome
    }

    package func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        switch step {
        case is DenyCode:
            return try await self.watched(destroys: false) { () throws(StoreError) in
                try await self.store.perform(step)
            }
        case is RevokeByDeletionCode, is EndAllOrNone, is EndWallets, is SetSolutionRevoked:
            return try await self.watched { () throws(StoreError) in try await self.store.perform(step) }
        case is NoteRecordedBlocks, is KeepLastSessions:
            try self.keeping()
            return try await self.store.perform(step)
        case is NewRegistration:
            let outcome = try await self.store.perform(step)
            try self.committed()
            return outcome
        case is ShareConfirmation:
            let outcome = try await self.store.perform(step)
            try self.committed()
            await self.gate.pass()
            return outcome
        default: return try await self.store.perform(step)
        }
    }

    package func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        try await self.store.identity(of: wallet)
    }

    package func isSolutionRevoked() async throws(StoreError) -> Bool { try await self.store.isSolutionRevoked() }

    package var commitLatency: CommitLatency { self.store.commitLatency }

    package var expectedSteps: ExpectedSteps { self.store.expectedSteps }

    package var limits: StepLimits { self.store.limits }

    package var sweepCursor: SweepCursor { self.store.sweepCursor }
}

extension InProcessServer.Options {
    /// Options for a server whose store fails at this moment of each end of wallets while `fails`
    /// returns true.
    package static func failing(
        with error: StoreError,
        at failing: GatedStore.Moment,
        while fails: @escaping @Sendable () -> Bool
    ) -> InProcessServer.Options {
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(store: store, gate: Gate()) { (moment: GatedStore.Moment) throws(StoreError) in
                if moment == failing, fails() { throw error }
            }
        }
        return options
    }
}
