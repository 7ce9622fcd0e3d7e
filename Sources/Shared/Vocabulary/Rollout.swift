/// A feature that an operator can enable for some wallets before others, while the server runs.
package enum FeatureFlag: String, Hashable, Sendable, CaseIterable {
    /// The safe biometric mode (safe-biometric.md).
    case safeBiometricUnlock = "safe-biometric-unlock"
}

/// The wallets for which a feature is on.
package enum Rollout: Hashable, Sendable {
    /// Off for every wallet.
    case off
    /// On for every wallet.
    case on
    /// On for these wallets, one to ``mostWallets``.
    case wallets(Set<WalletID>)
    /// On for this percentage; a wallet that is included stays included if the percentage is increased.
    case percentage(Int)

    /// The longest list.
    package static let mostWallets = 1000
    /// The allowed percentages.
    package static let allowedPercentages = 0...100

    /// True if the list or percentage is allowed.
    package var isAllowed: Bool {
        switch self {
        case .off, .on: true
        case .wallets(let wallets): (1...Self.mostWallets).contains(wallets.count)
        case .percentage(let percentage): Self.allowedPercentages.contains(percentage)
        }
    }
}
