package import Vocabulary

/// The durable store of wallets.
///
/// Every operation is one atomic conditional step: it reads, decides and writes in one commit and returns only
/// after the bytes are durable. Callers hold no lock and never read in order to write later, so several servers can
/// share one store. Sealed values are opaque here; the store never sees a key of the vault.
///
/// Invariant (G3, G4): no verdict leaves the store before the attempt is counted durably.
package protocol WalletStore: OperatorStore {
    /// The steps that callers are about to begin, so that a commit can wait for them.
    var expectedSteps: ExpectedSteps { get }

    /// Stores a registration, or replaces one of the same token and hardware key that has had no session yet.
    func register(_ registration: NewRegistration) async throws(StoreError) -> RegisterOutcome

    /// Returns the data for verifying a device's proof, or nil for an unknown wallet.
    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity?

    /// Records a verified proof. Its App Attest counter, if it has one, must be greater than the stored one. The
    /// first session ends the period in which the token may be registered again.
    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome

    /// Counts one attempt, judges it and writes the instruction's effect, in one commit; returns the outcome and, for
    /// a verdict, its receipt.
    func certify(_ attempt: Attempt) async throws(StoreError) -> CertifiedOutcome

    /// Replaces shares by the next ones under which a wallet has sealed its data, and destroys the old ones.
    func confirm(_ confirmation: ShareConfirmation) async throws(StoreError) -> ShareConfirmationOutcome

    /// Revokes the wallet whose deletion code has this SHA-256 and destroys its shares; repeats its answer when
    /// called again.
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) async throws(StoreError)
        -> CodeRevocationOutcome

    /// Revokes a wallet as by its user and destroys its shares; a revoked wallet stays as it is.
    func recordWipe(of wallet: WalletID, at now: Timestamp) async throws(StoreError)

    /// Looks at `most` attempt records, after place `after` or from the first one, and returns the permanently
    /// blocked wallets in use whose block is not noted as recorded.
    func unrecordedBlocks(after: UInt64?, lookingAt most: Int) async throws(StoreError) -> UnrecordedBlocks

    /// Notes that the permanent blocks of these wallets are in the audit log.
    func noteRecorded(blocksOf wallets: [WalletID]) async throws(StoreError)

    /// The newest signed root of receipts, or nil before the first verdict since the start.
    var newestRoot: SignedRoot? { get }

    /// Returns whether the whole solution is revoked.
    func isSolutionRevoked() async throws(StoreError) -> Bool

    /// Removes registrations made before `limit` that have had no session.
    ///
    /// Takes time in proportion to the rows removed, and may leave some to later sweeps. Returns the number of
    /// registrations removed.
    func sweep(unopenedSince limit: Timestamp) async throws(StoreError) -> Int
}

extension WalletStore {
    /// Judges an attempt whose receipt is not needed.
    package func judge(_ attempt: Attempt) async throws(StoreError) -> AttemptOutcome {
        try await self.certify(attempt).outcome
    }
}

/// The reason why a step was not done; nothing of it was written and nothing was judged, except as noted.
package enum StoreError: Error, Hashable, Sendable {
    /// The attempt is judged and counted, but its receipt could not be signed: close the connection without an
    /// answer.
    case notCertified
    /// The step may be done or not, and a failover may take it back: close the connection without an answer. The
    /// record itself decides when the client repeats its call.
    case outcomeUnknown
    /// Answer `unavailable`: the disk is full, or the store is closing.
    case unavailable
    /// The step is committed and durable, but the store's log still has copies of the shares that it destroyed.
    /// Report it and answer `unavailable`; repeating the step empties the log.
    case notErased
    /// Stored data cannot be decoded; answer `internal` and alert the operator.
    case corrupt
}
