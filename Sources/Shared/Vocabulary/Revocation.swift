/// Who ended a wallet's use, and whether its device may register anew.
public struct Revocation: Hashable, Sendable {
    /// What was revoked, and by whom.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// By its user, with the deletion code or by wiping the app.
        case user
        /// By an operator, this wallet.
        case wallet
        /// By an operator, through the recovery code that the wallet is linked to.
        case recoveryCode = "recovery-code"
        /// By an operator, the whole solution; the only one that can be taken back.
        case solution
    }

    public let reason: Reason
    public let mayRegisterAnew: Bool

    public init(reason: Reason, mayRegisterAnew: Bool) {
        self.reason = reason
        self.mayRegisterAnew = mayRegisterAnew
    }

    /// By its user: with the deletion code, or by a wipe of the app.
    public static let byUser = Revocation(reason: .user, mayRegisterAnew: true)
}
