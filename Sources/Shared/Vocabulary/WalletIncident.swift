/// A wallet event about which operators may want to be notified immediately.
///
/// It is created after its commit and contains no secret.
package enum WalletIncident: Hashable, Sendable {
    /// A round of attempts ended: no PIN is judged until the given time.
    case blocked(WalletID, until: Timestamp)
    /// The last round ended: no PIN is ever judged again.
    case blockedPermanently(WalletID)
    /// The wallet ended permanently; never for the solution's revocation, which is one event for all.
    case revoked(WalletID, Revocation)
    /// No wallet is served until ``solutionRestored``.
    case solutionRevoked
    /// All wallets are as they were before ``solutionRevoked``.
    case solutionRestored
}
