internal import Vocabulary

/// The terms of service for wallets: the settings, and the values that operators change while the server is running.
package struct ServiceTerms: Sendable {
    package let rules: ServiceRules
    let controls: OperatorControls

    /// The features that the server offers before it knows the wallet.
    var features: Features { Features(deletionCode: self.rules.offersDeletionCode, safeBiometricUnlock: false) }

    /// Returns the features that the server offers to a wallet.
    func features(of wallet: WalletID) -> Features {
        Features(
            deletionCode: self.rules.offersDeletionCode,
            safeBiometricUnlock: self.controls.isOn(.safeBiometricUnlock, for: wallet)
        )
    }
}
