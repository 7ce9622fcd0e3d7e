internal import Metrics
internal import Vocabulary

/// Counts ended wallets by the party that ended them.
struct RevocationMeters: Sendable {
    private let counters: [Revocation.Reason: Counter]

    init(_ factory: any MetricsFactory) {
        self.counters = Revocation.Reason.allCases.reduce(into: [:]) { counters, reason in
            counters[reason] = Counter(
                label: "remote_pin_revocations_total",
                dimensions: [("kind", reason.rawValue.replacing("-", with: "_"))],
                factory: factory
            )
        }
    }

    /// Counts a committed incident.
    func note(_ incident: WalletIncident) {
        switch incident {
        case .revoked(_, let revocation): self.counters[revocation.reason]?.increment()
        case .solutionRevoked: self.counters[.solution]?.increment()
        case .blocked, .blockedPermanently, .solutionRestored: break
        }
    }
}
