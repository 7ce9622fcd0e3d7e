/// A feature that an operator can enable for some wallets before others, while the server runs.
public enum FeatureFlag: String, Hashable, Sendable, CaseIterable {
    /// The safe biometric mode (safe-biometric.md).
    case safeBiometricUnlock = "safe-biometric-unlock"
}

/// The wallets for which a feature is on.
public enum Rollout: Hashable, Sendable {
    case off
    case on
    /// On for these wallets, one to ``mostWallets``.
    case wallets(Set<WalletID>)
    /// On for this percentage; a wallet that is included stays included as the number grows.
    case percentage(Int)

    /// The longest list.
    public static let mostWallets = 1000
    /// The allowed percentages.
    public static let allowedPercentages = 0...100

    /// Indicates that the list or percentage is allowed.
    public var isAllowed: Bool {
        switch self {
        case .off, .on: true
        case .wallets(let wallets): (1...Self.mostWallets).contains(wallets.count)
        case .percentage(let percentage): Self.allowedPercentages.contains(percentage)
        }
    }
}
