public import Vocabulary

/// The server's latest information about itself and this wallet.
///
/// This is for display only. It could have been sent by an impostor, so it must not be used for security decisions.
public struct WalletConfiguration: Hashable, Sendable {
    /// The rules for wrong PINs.
    ///
    /// The standard rules apply until the server has sent its own.
    public var attemptPolicy = AttemptPolicy.standard
    /// The features offered to this wallet, or nil if the server has not sent them yet.
    public var features: Features?
    /// The verdict on the installed app version, or nil if the server has not sent one yet.
    public var update: UpdateVerdict?
    /// Whether the whole solution is revoked, which affects all wallets.
    public var isSolutionRevoked = false

    init(_ state: CachedServerState) {
        if let policy = state.attemptPolicy { self.attemptPolicy = policy }
        self.features = state.lastFeatures
        self.update = state.lastUpdate?.verdict
        self.isSolutionRevoked = state.lastRevocation?.reason == .solution
    }
}
