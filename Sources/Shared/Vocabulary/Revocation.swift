/// The revocation of a wallet: its reason, and whether the device may register again.
public struct Revocation: Hashable, Sendable {
    /// The scope of the revocation, and the party that made it.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The wallet was revoked by its user, with the deletion code or by wiping the app.
        case user
        /// This wallet was revoked by an operator.
        case wallet
        /// An operator revoked the recovery code the wallet is linked to.
        case recoveryCode = "recovery-code"
        /// An operator revoked the whole solution; this is the only revocation that can be undone.
        case solution
    }

    /// The scope of the revocation, and the party that made it.
    public let reason: Reason
    /// Whether the device may register a new wallet afterwards.
    public let mayRegisterAnew: Bool

    /// Creates a revocation as a server states it.
    public init(reason: Reason, mayRegisterAnew: Bool) {
        self.reason = reason
        self.mayRegisterAnew = mayRegisterAnew
    }

    /// By its user: with the deletion code, or by a wipe of the app.
    public static let byUser = Revocation(reason: .user, mayRegisterAnew: true)
}
