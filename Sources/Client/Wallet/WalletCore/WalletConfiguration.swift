public import Vocabulary

/// The server's latest statements about itself and this wallet.
///
/// For display only. A peer that answers in place of the server can state all of it, so no security
/// decision may depend on it.
public struct WalletConfiguration: Hashable, Sendable {
    /// The rules for wrong PINs; the standard ones until the server has stated its own.
    public var attemptPolicy = AttemptPolicy.standard
    /// The features offered to this wallet; nil until the server has stated them.
    public var features: Features?
    /// The verdict on the installed version of the app; nil until the server has stated one.
    public var update: UpdateVerdict?
    /// True if the whole solution is revoked, independent of the state of single wallets.
    public var isSolutionRevoked = false

    init(_ state: CachedServerState) {
        if let policy = state.attemptPolicy { self.attemptPolicy = policy }
        self.features = state.lastFeatures
        self.update = state.lastUpdate?.verdict
        self.isSolutionRevoked = state.lastRevocation?.reason == .solution
    }
}
