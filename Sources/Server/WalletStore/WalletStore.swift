package import Vocabulary

/// Where wallets are kept, durably.
///
/// Every operation is one atomic conditional step: it looks, decides and writes in one commit and returns only when
/// the bytes are safe. Callers hold no lock and read nothing first in order to write it afterwards, so that several
/// servers can share one store. What is sealed is opaque here; the store never sees a key of the vault.
///
/// Invariant (G3, G4): no verdict exists outside this store before the attempt is counted durably.
package protocol WalletStore: OperatorStore {
    /// Keeps a registration, or replaces one of the same token and hardware key that no session was opened for yet.
    func register(_ registration: NewRegistration) async throws(StoreError) -> RegisterOutcome

    /// What is needed to check a device's proof; nil for an unknown wallet.
    func identity(of wallet: WalletID) async throws(StoreError) -> StoredIdentity?

    /// Takes a proof that was found good: its App Attest counter, if it has one, must be greater than the stored one;
    /// the first session ends the time in which the token may be registered again.
    func beginSession(_ session: NewSession) async throws(StoreError) -> SessionOutcome

    /// Counts one attempt, judges it and writes the instruction's effect, in one commit.
    func judge(_ attempt: Attempt) async throws(StoreError) -> AttemptOutcome

    /// Revokes the wallet whose deletion code has this SHA-256, and destroys its shares; says so again when repeated.
    func revoke(byDeletionCode digest: SHA256Digest, at now: Timestamp) async throws(StoreError)
        -> CodeRevocationOutcome

    /// Revokes a wallet as its user and destroys its shares; one that is revoked already stays as it is.
    func recordWipe(of wallet: WalletID, at now: Timestamp) async throws(StoreError)

    /// Whether the whole solution is revoked.
    func isSolutionRevoked() async throws(StoreError) -> Bool

    /// Removes registrations made before `limit` that no session was opened for, and attempt records that hold nothing.
    /// Takes as long as there is to remove; some of it may be left to the next sweeps.
    ///
    /// Returns how many registrations went.
    func sweep(unopenedSince limit: Timestamp) async throws(StoreError) -> Int
}

/// Why a step was not done; nothing of it was written and nothing was judged.
package enum StoreError: Error, Hashable, Sendable {
    /// Answer `unavailable`: the disk is full, or the store is closing.
    case unavailable
    /// Committed and durable, but copies of the shares that it destroyed are still in the store's log: tell of it, answer
    /// `unavailable`, and the same again has the log emptied.
    case notErased
    /// Stored data does not read as it was written; answer `internal` and tell the operator.
    case corrupt
}
