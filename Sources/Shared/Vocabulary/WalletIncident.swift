/// A wallet event about which operators may want to be notified immediately.
///
/// It is created after its commit and contains no secret.
package enum WalletIncident: Hashable, Sendable {
    /// A round of attempts ended: no PIN is judged until the given time.
    case blocked(WalletID, until: Timestamp)
    /// The last round ended: no PIN is ever judged again.
    case blockedPermanently(WalletID)
    /// The wallet was permanently revoked; not used when the solution is revoked, which is a single event for all
    /// wallets.
    case revoked(WalletID, Revocation)
    /// The solution was revoked, so no wallet is served until ``solutionRestored``.
    case solutionRevoked
    /// The solution was restored, so all wallets are as they were before ``solutionRevoked``.
    case solutionRestored
}
