public import Vocabulary

/// What the server has said last of itself and of this wallet.
///
/// For a host to show or to follow. It proves nothing: whoever answers in the server's place can say all of it, so
/// nothing that must hold may depend on it.
public struct WalletConfiguration: Hashable, Sendable {
    /// The rules of wrong PINs; the usual ones until the server has stated its own.
    public var attemptPolicy = AttemptPolicy.standard
    /// What is offered to this wallet; nil until the server has said so.
    public var features: Features?
    /// What was said of this version of the app; nil until then.
    public var update: UpdateVerdict?
    /// Whether the whole solution is revoked, whatever becomes of single wallets.
    public var isSolutionRevoked = false

    init(_ words: CachedServerState) {
        if let policy = words.attemptPolicy { self.attemptPolicy = policy }
        self.features = words.lastFeatures
        self.update = words.lastUpdate?.verdict
        self.isSolutionRevoked = words.lastRevocation?.reason == .solution
    }
}
