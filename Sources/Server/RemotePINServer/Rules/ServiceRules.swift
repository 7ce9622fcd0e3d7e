package import Vocabulary

/// The settings that calls depend on: numbers and policies.
package struct ServiceRules: Sendable {
    package var attempts: AttemptPolicy
    package var offersDeletionCode: Bool
    package var updates: UpdatePolicy
    /// The maximum duration of a session.
    package var sessionLifetime: Duration
    /// The time a client has to complete an enrollment.
    package var tokenLifetime: Duration
    /// The time after which a registration without a session is removed.
    package var unopenedLifetime: Duration
    /// The transport's limit on the number of calls in flight on one connection.
    package var maxInFlight: Int
    /// The limits for each source.
    package var sources: SourceLimits

    package init(
        attempts: AttemptPolicy = .standard,
        offersDeletionCode: Bool = true,
        updates: UpdatePolicy = UpdatePolicy(),
        sessionLifetime: Duration = .seconds(900),
        tokenLifetime: Duration = .seconds(300),
        unopenedLifetime: Duration = .seconds(86_400),
        maxInFlight: Int = 16,
        sources: SourceLimits = SourceLimits()
    ) {
        self.attempts = attempts
        self.offersDeletionCode = offersDeletionCode
        self.updates = updates
        self.sessionLifetime = sessionLifetime
        self.tokenLifetime = tokenLifetime
        self.unopenedLifetime = unopenedLifetime
        self.maxInFlight = maxInFlight
        self.sources = sources
    }
}

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
