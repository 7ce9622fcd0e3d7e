package import Vocabulary

/// The durable store of wallets.
///
/// Every operation is a single atomic conditional step: it reads, decides and writes in one commit, and returns only
/// after the bytes are durable. Callers hold no locks and never read a value in order to write it later, so several
/// servers can share a store. Sealed values are opaque to the store, which never sees the vault's keys.
///
/// Invariant (G3, G4): no verdict leaves the store before its attempt has been durably counted.
package protocol WalletStore: Sendable {
    /// Runs a step and returns its answer once its commit is durable.
    func perform<Step: StoreStep>(_ step: Step) async throws(StoreError) -> Step.Answer

    /// Returns the data needed to verify a device's proof, or nil if the wallet is unknown.
    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity?

    /// Records a verified proof.
    ///
    /// If the proof has an App Attest counter, it must be greater than the stored one. The first session ends the
    /// period during which the token may be registered again.
    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome

    /// Counts an attempt, judges it and writes the instruction's effect in one commit; returns the outcome and, if
    /// there is a verdict, its receipt.
    func judge(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome

    /// Returns whether the whole solution is revoked.
    func isSolutionRevoked() async throws(StoreError) -> Bool

    /// The newest signed receipt root, or nil before the first verdict since the start.
    var newestRoot: SignedRoot? { get }

    /// The steps that callers are about to submit.
    ///
    /// A commit can wait for them.
    var expectedSteps: ExpectedSteps { get }

    /// The commit durations since the start.
    var commitLatency: CommitLatency { get }

    var limits: StepLimits { get }
    var sweepCursor: SweepCursor { get }
}

/// The sizes of steps, chosen so that PIN checks do not wait long.
package struct StepLimits: Sendable {
    /// The maximum number of wallets that one step removes.
    package let removedAtOnce: Int
    /// The maximum number of wallets that one step of a search reads.
    package let searchedAtOnce: Int

    package init(removedAtOnce: Int, searchedAtOnce: Int) {
        (self.removedAtOnce, self.searchedAtOnce) = (removedAtOnce, searchedAtOnce)
    }
}

/// A reason why a step was not done.
///
/// Unless noted otherwise, nothing was written and nothing was judged.
package enum StoreError: Error, Hashable, Sendable {
    /// The attempt was judged and counted, but its receipt could not be signed.
    ///
    /// Close the connection without an answer.
    case notCertified
    /// The step may have been done, but a failover may undo it.
    ///
    /// Close the connection without an answer. If the client repeats its call, the stored record decides.
    case outcomeUnknown
    /// The disk is full or the store is closing.
    ///
    /// Answer `unavailable`.
    case unavailable
    /// The step is committed and durable, but the store's log still contains copies of the shares that it destroyed.
    ///
    /// Report this and answer `unavailable`. Repeating the step empties the log.
    case notErased
    /// Stored data cannot be decoded.
    ///
    /// Answer `internal` and alert the operator.
    case corrupt
}

/// A store as used by a server, until it is closed.
package protocol ServedStore: AnyObject, WalletStore {
    /// Announces the newest entry in this server's audit log.
    ///
    /// The next audited change stores it.
    func announce(_ newest: StoredAuditMark)

    /// Whether other servers also change the store.
    var isShared: Bool { get }

    /// The generation of this server's last commit, which is durable: a number that rises with every commit that this
    /// server makes in the store's epoch.
    var generation: UInt64 { get }

    /// Returns the generation of this server's last commit in an earlier epoch that later epochs took into account.
    ///
    /// The later epochs charge for the loss of commits up to this generation. They charge nothing for commits after it.
    func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64

    /// The number of steps waiting for the next commit.
    var waitingSteps: Int { get }

    /// This server's lease, if several servers may use the store; nil for an embedded one.
    var lease: (any ServerLease)? { get }

    /// Rejects further steps, finishes those waiting and closes the files or connections.
    func close() async
}

extension SQLiteWalletStore {
    package var isShared: Bool { false }
    package var lease: (any ServerLease)? { nil }
    package func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64 { 0 }
}

/// A file error in the store after which the process must exit.
package struct FatalStoreError: Error, Sendable, CustomStringConvertible {
    /// A description for the log.
    package let description: String
    /// Whether the disk is full and no commit was lost, in which case the process may be restarted automatically.
    ///
    /// After any other failure, a later sync may succeed although a page was lost, so an operator must intervene.
    package let isDiskFull: Bool

    init(_ description: String, isDiskFull: Bool = false) {
        self.description = description
        self.isDiskFull = isDiskFull
    }
}
