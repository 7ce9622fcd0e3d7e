/// A feature that an operator can enable for some wallets before others while the server is running.
package enum FeatureFlag: String, Hashable, Sendable, CaseIterable {
    /// The safe biometric mode (docs/testing-guide.md, The safe biometric mode).
    case safeBiometricUnlock = "safe-biometric-unlock"
}

/// The wallets that a feature is enabled for.
package enum Rollout: Hashable, Sendable {
    /// Disabled for all wallets.
    case off
    /// Enabled for all wallets.
    case on
    /// Enabled for the given wallets.
    ///
    /// The list may contain up to ``mostWallets`` wallets.
    case wallets(Set<WalletID>)
    /// Enabled for a percentage of wallets.
    ///
    /// If the percentage is increased, wallets that were included stay included.
    case percentage(Int)

    /// The maximum number of wallets in a list.
    package static let mostWallets = 1000
    /// The allowed percentages.
    package static let allowedPercentages = 0...100

    /// Whether the list or percentage is allowed.
    package var isAllowed: Bool {
        switch self {
        case .off, .on: true
        case .wallets(let wallets): (1...Self.mostWallets).contains(wallets.count)
        case .percentage(let percentage): Self.allowedPercentages.contains(percentage)
        }
    }
}
