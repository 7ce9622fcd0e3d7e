internal import Metrics
internal import Vocabulary

/// Counts ended wallets by the party that ended them.
struct RevocationMeters: Sendable {
    private let user: Counter
    private let wallet: Counter
    private let recoveryCode: Counter
    private let solution: Counter

    init(_ factory: any MetricsFactory) {
        func counter(_ kind: String) -> Counter {
            Counter(label: "remote_pin_revocations_total", dimensions: [("kind", kind)], factory: factory)
        }
        self.user = counter("user")
        self.wallet = counter("wallet")
        self.recoveryCode = counter("recovery_code")
        self.solution = counter("solution")
    }

    /// Counts a committed incident.
    func note(_ incident: WalletIncident) {
        switch incident {
        case .revoked(_, let revocation):
            switch revocation.reason {
            case .user: self.user.increment()
            case .wallet: self.wallet.increment()
            case .recoveryCode: self.recoveryCode.increment()
            case .solution: self.solution.increment()
            }
        case .solutionRevoked: self.solution.increment()
        case .blocked, .blockedPermanently, .solutionRestored: break
        }
    }
}
