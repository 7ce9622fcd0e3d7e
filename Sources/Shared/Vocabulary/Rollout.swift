/// What an operator switches for some wallets before others, while the server runs.
public enum FeatureFlag: String, Hashable, Sendable, CaseIterable {
    /// The safe biometric mode (safe-biometric.md).
    case safeBiometricUnlock = "safe-biometric-unlock"
}

/// For which wallets a feature is on.
public enum Rollout: Hashable, Sendable {
    case off
    case on
    /// For those listed, one to ``mostWallets`` of them.
    case wallets(Set<WalletID>)
    /// For so many of a hundred; a wallet that is in stays in as the number grows.
    case percentage(Int)

    /// The longest list.
    public static let mostWallets = 1000
    /// What a percentage may be.
    public static let allowedPercentages = 0...100

    /// Whether the list or the percentage is one that may be set.
    public var isAllowed: Bool {
        switch self {
        case .off, .on: true
        case .wallets(let wallets): (1...Self.mostWallets).contains(wallets.count)
        case .percentage(let percentage): Self.allowedPercentages.contains(percentage)
        }
    }
}
