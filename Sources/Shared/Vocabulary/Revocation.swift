/// The revocation of a wallet, with the reason and whether the device may register again.
package struct Revocation: Hashable, Sendable, Codable {
    /// The scope of the revocation, and who made it.
    package enum Reason: String, Hashable, Sendable, CaseIterable, Codable {
        /// The wallet was revoked by its user, with the deletion code or by wiping the app.
        case user
        /// The wallet was revoked by an operator.
        case wallet
        /// An operator revoked the recovery code that the wallet is linked to.
        case recoveryCode = "recovery-code"
        /// An operator revoked the whole solution.
        ///
        /// This is the only kind of revocation that can be undone.
        case solution
    }

    /// The scope of the revocation, and who made it.
    package let reason: Reason
    /// Whether the device may register a new wallet after this one.
    package let mayRegisterAnew: Bool

    /// Whether the user revoked the wallet with its deletion code, instead of by wiping the app.
    package let withDeletionCode: Bool

    /// Creates a revocation as reported by a server.
    package init(reason: Reason, mayRegisterAnew: Bool, withDeletionCode: Bool = false) {
        self.reason = reason
        self.mayRegisterAnew = mayRegisterAnew
        self.withDeletionCode = withDeletionCode
    }

    /// A revocation by the user with the deletion code.
    package static let byDeletionCode = Revocation(reason: .user, mayRegisterAnew: true, withDeletionCode: true)
    /// A revocation by the user, who wiped the app.
    package static let byWipe = Revocation(reason: .user, mayRegisterAnew: true)
}

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
