package import Vocabulary

/// What an operator set and a call asks for: numbers and policies, no machinery.
package struct ServiceRules: Sendable {
    package var attempts: AttemptPolicy
    package var offersDeletionCode: Bool
    package var updates: UpdatePolicy
    /// A session ends at the latest after this.
    package var sessionLifetime: Duration
    /// An enrollment has to be finished within this.
    package var tokenLifetime: Duration
    /// A registration without a session is removed after this.
    package var unopenedLifetime: Duration
    /// Calls in flight on one connection, as the transport limits them.
    package var maxInFlight: Int
    /// What one source may ask for.
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
