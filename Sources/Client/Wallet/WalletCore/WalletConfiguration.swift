public import Vocabulary

/// The latest information from the server about itself and this wallet.
///
/// This is for display only. A peer impersonating the server could have sent all of it, so it must not be used for any
/// security decision.
public struct WalletConfiguration: Hashable, Sendable {
    /// The rules for wrong PINs; the standard ones until the server has sent its own.
    public var attemptPolicy = AttemptPolicy.standard
    /// The features offered to this wallet; nil until the server has stated them.
    public var features: Features?
    /// The verdict on the installed version of the app; nil until the server has stated one.
    public var update: UpdateVerdict?
    /// True if the whole solution is revoked, regardless of the state of individual wallets.
    public var isSolutionRevoked = false

    init(_ state: CachedServerState) {
        if let policy = state.attemptPolicy { self.attemptPolicy = policy }
        self.features = state.lastFeatures
        self.update = state.lastUpdate?.verdict
        self.isSolutionRevoked = state.lastRevocation?.reason == .solution
    }
}
