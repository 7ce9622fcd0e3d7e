/// Something that happened to wallets and that operators may want to be told of the moment it does.
///
/// Committed by the time that it exists, and nothing in it is secret.
public enum WalletIncident: Hashable, Sendable {
    /// A round of attempts ended: no PIN is judged until then.
    case blocked(WalletID, until: Timestamp)
    /// The last round ended: no PIN is judged ever again.
    case blockedPermanently(WalletID)
    /// The wallet ended for good; never by the solution's revocation, which is one event for all.
    case revoked(WalletID, Revocation)
    /// No wallet is served any more, until ``solutionRestored``.
    case solutionRevoked
    /// All wallets are as they were before ``solutionRevoked``.
    case solutionRestored
}
