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

    func report(of wallet: WalletID) async throws(StoreError) -> WalletReport? {
        let reply = await self.perform(.report)
        guard case .report(let revocation) = reply else { throw Self.failure(reply) }
        return WalletReport(
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

    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) async throws(StoreError)
        -> CodeRevocationOutcome
    {
        let reply = await self.perform(.revoke(digest, at: now))
        guard case .revoked(let outcome) = reply else { throw Self.failure(reply) }
        return outcome
    }

    func revoke(wallets: [WalletID], at now: Timestamp) async throws(StoreError) -> WalletsRevocationOutcome {
        let reply = await self.perform(.revokeWallet(at: now))
        guard case .walletsRevoked(let outcome) = reply else { throw Self.failure(reply) }
        return outcome
    }

    func wallet(ofDeletionCode digest: SHA256Digest) async throws(StoreError) -> WalletID? { self.wallet }
    func isSolutionRevoked() async throws(StoreError) -> Bool { false }
    func operatorValues() async throws(StoreError) -> OperatorValues { OperatorValues(revision: 0, values: [:]) }
    var newestRoot: SignedRoot? { nil }
    /// Timers note entries, and they do not run here.
    func isRecorded(blockOf wallet: WalletID) async throws(StoreError) -> Bool { false }
}

/// The steps that no explored call takes.
extension PausedStore {
    func register(_ registration: NewRegistration) async throws(StoreError) -> RegisterOutcome { throw .unavailable }
    func confirm(_ confirmation: ShareConfirmation) async throws(StoreError) -> ShareConfirmationOutcome {
        throw .unavailable
    }
    func recordWipe(of wallet: WalletID, at now: Timestamp) async throws(StoreError) { throw .unavailable }
    func unrecordedBlocks(after: UInt64?, lookingAt limit: Int) async throws(StoreError) -> UnrecordedBlocks {
        throw .unavailable
    }
    func noteRecorded(blocksOf wallets: [WalletID]) async throws(StoreError) { throw .unavailable }
    func sweep(unopenedSince limit: Timestamp) async throws(StoreError) -> Int { throw .unavailable }
    func end(_ wallets: [WalletID], as revocation: Revocation, at now: Timestamp) async throws(StoreError)
        -> WalletsEnding
    { throw .unavailable }
    func revoke(recoveryCode mac: RecoveryCodeMAC, at now: Timestamp) async throws(StoreError)
        -> RecoveryCodeRevocationOutcome
    { throw .unavailable }
    func wallets(linkedTo mac: RecoveryCodeMAC) async throws(StoreError) -> [WalletID] { throw .unavailable }
    func setSolutionRevoked(_ isRevoked: Bool) async throws(StoreError) -> Bool { throw .unavailable }
    func denied(after: RecoveryCodeMAC?, limit: Int) async throws(StoreError) -> (
        entries: [StoredDenial], hasMore: Bool
    ) { throw .unavailable }
    func denied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? { throw .unavailable }
    func removeDenied(_ mac: RecoveryCodeMAC) async throws(StoreError) -> Timestamp? { throw .unavailable }
    func setOperatorValues(_ values: [String: String?], at now: Timestamp) async throws(StoreError) -> OperatorValues {
        throw .unavailable
    }
    func purged(deletionCode digest: SHA256Digest) async throws(StoreError) -> Timestamp? { throw .unavailable }
    func listing(after: UInt64?, limit: Int) async throws(StoreError) -> [StoredListing] { throw .unavailable }
    func keepLastSessions(_ sessions: [WalletID: Timestamp]) async throws(StoreError) { throw .unavailable }
}
