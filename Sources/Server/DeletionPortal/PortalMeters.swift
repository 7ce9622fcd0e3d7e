internal import Metrics

/// Counts entered codes by outcome.
struct PortalMeters: Sendable {
    private let deleted: Counter
    private let wrong: Counter
    private let limited: Counter
    private let away: Counter
    private let unknown: Counter

    init(_ factory: any MetricsFactory) {
        func counter(_ outcome: String) -> Counter {
            Counter(label: "remote_pin_portal_codes_total", dimensions: [("outcome", outcome)], factory: factory)
        }
        self.deleted = counter("deleted")
        self.wrong = counter("wrong")
        self.limited = counter("limited")
        self.away = counter("away")
        self.unknown = counter("unknown")
    }

    /// Counts the answer to a code.
    func note(_ answer: RevocationAnswer) {
        switch answer {
        case .revoked: self.deleted.increment()
        case .wrong: self.wrong.increment()
        case .wait: self.limited.increment()
        case .away: self.away.increment()
        case .unknown: self.unknown.increment()
        }
    }

    /// Counts a code rejected by the portal's own limit.
    func noteLimited() { self.limited.increment() }
}
