/// An event concerning a wallet that operators may want to be notified of immediately.
///
/// It is created after its commit and does not contain any secrets.
package enum WalletIncident: Hashable, Sendable {
    /// A round of attempts has ended, so no PIN is judged until the given time.
    case blocked(WalletID, until: Timestamp)
    /// The last round has ended, so no PIN will ever be judged again.
    case blockedPermanently(WalletID)
    /// The wallet was permanently revoked.
    ///
    /// Not used if the solution is revoked, which is a single event for all wallets.
    case revoked(WalletID, Revocation)
    /// The solution was revoked, so no wallet is served until ``solutionRestored``.
    case solutionRevoked
    /// The solution was restored, so all wallets are in the same state as before ``solutionRevoked``.
    case solutionRestored
}
