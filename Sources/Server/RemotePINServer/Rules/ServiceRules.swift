public import Vocabulary

/// What an operator set and a call asks for: numbers and policies, no machinery.
public struct ServiceRules: Sendable {
    public var attempts: AttemptPolicy
    public var offersDeletionCode: Bool
    public var updates: UpdatePolicy
    /// A session ends at the latest after this.
    public var sessionLifetime: Duration
    /// An enrollment has to be finished within this.
    public var tokenLifetime: Duration
    /// A registration without a session is removed after this.
    public var unopenedLifetime: Duration
    /// Calls in flight on one connection, as the transport limits them.
    public var maxInFlight: Int
    /// What one source may ask for.
    public var sources: SourceLimits

    public init(
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
