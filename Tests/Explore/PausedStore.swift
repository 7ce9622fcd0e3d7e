internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// A store that hands each step to the explorer and continues with the explorer's reply.
final class PausedStore: WalletStore {
    private struct Waiting {
        let operation: Operation
        let continuation: CheckedContinuation<Reply, Never>
    }

    private let waiting = Mutex<Waiting?>(nil)
    private let wallet: WalletID
    let expectedSteps = ExpectedSteps()
    let commitLatency = CommitLatency()
    let limits = StepLimits(removedAtOnce: 1, searchedAtOnce: 1)
    let sweepCursor = SweepCursor()

    init(wallet: WalletID) {
        self.wallet = wallet
    }

    /// The step that waits for its reply.
    var operation: Operation? { self.waiting.withLock { $0?.operation } }

    /// Removes the waiting step, whose reply is given later.
    func take() -> CheckedContinuation<Reply, Never>? {
        self.waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting?.continuation
        }
    }

    private func perform(_ operation: Operation) async -> Reply {
        await withCheckedContinuation { continuation in
            self.waiting.withLock { $0 = Waiting(operation: operation, continuation: continuation) }
        }
    }

    /// Returns the error of a reply; any other reply belongs to another kind of step.
    private static func failure(_ reply: Reply) -> StoreError {
        guard case .failed(let error) = reply else { preconditionFailure("the reply belongs to another step") }
        return error
    }

    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity? {
        guard wallet == self.wallet else { return nil }
        let reply = await self.perform(.identity)
        guard case .identity(let identity) = reply else { throw Self.failure(reply) }
        return identity
    }

    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome {
        let reply = await self.perform(.beginSession(session))
        guard case .session(let outcome) = reply else { throw Self.failure(reply) }
        return outcome
    }

    func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome {
        let reply = await self.perform(.judge(attempt))
        guard case .judged(let outcome) = reply else { throw Self.failure(reply) }
        return CertifiedOutcome(outcome)
    }

    func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer {
        let answer: Any
        switch step {
        case let step as RevokeByDeletionCode:
            let reply = await self.perform(.revoke(step))
            guard case .revoked(let outcome) = reply else { throw Self.failure(reply) }
            answer = outcome
        case let step as EndAllOrNone:
            let reply = await self.perform(.revokeWallets(step))
            guard case .walletsRevoked(let outcome) = reply else { throw Self.failure(reply) }
            answer = outcome
        case is ReportOfWallet:
            let reply = await self.perform(.report)
            guard case .report(let revocation) = reply else { throw Self.failure(reply) }
            answer = WalletReport?.some(Self.report(revocation)) as Any
        case is WalletOfDeletionCode: answer = WalletID?.some(self.wallet) as Any
        // Timers note entries, and they do not run here.
        case is IsBlockRecorded: answer = false
        case is ReadOperatorValues: answer = OperatorValues(revision: 0, values: [:])
        // No explored call takes another step.
        default: throw .unavailable
        }
        guard let answer = answer as? Step.Answer else { preconditionFailure("a step has one kind of answer") }
        return answer
    }

    func isSolutionRevoked() async throws(StoreError) -> Bool { false }
    var newestRoot: SignedRoot? { nil }

    private static func report(_ revocation: Revocation?) -> WalletReport {
        WalletReport(
            identity: [],
            registeredAt: Timestamp(milliseconds: 0),
            sessionOpened: true,
            lastSession: nil,
            revocation: revocation,
            revokedAt: Timestamp(milliseconds: 0),
            isSolutionRevoked: false,
            isLinkedToRecoveryCode: false,
            hasDeletionCode: true,
            assertionCounter: nil,
            attempts: nil,
            attested: "{}"
        )
    }
}
