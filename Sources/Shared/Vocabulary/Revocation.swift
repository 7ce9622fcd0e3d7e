/// The end of a wallet's use: its reason, and whether the device may register again.
public struct Revocation: Hashable, Sendable {
    /// The scope of a revocation, and its actor.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// By its user, with the deletion code or by wiping the app.
        case user
        /// By an operator, this wallet.
        case wallet
        /// By an operator, through the recovery code that the wallet is linked to.
        case recoveryCode = "recovery-code"
        /// By an operator, the whole solution; the only reversible one.
        case solution
    }

    /// The scope of the revocation, and its actor.
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
