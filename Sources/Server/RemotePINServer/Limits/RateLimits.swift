internal import LogLines
internal import Logging
internal import Metrics
internal import Synchronization
internal import Vocabulary

/// The limits on calls from one source and on log lines caused by clients, with their state.
final class RateLimits: Sendable {
    private let inForce: Mutex<SourceLimits>
    let sources: SourceTable
    let metrics: LimitMetrics
    let refusalLog = RefusalLogLimiter()
    /// Limits the log lines about PIN changes, because a wallet may change its PIN as often as its source may call.
    let pinChangeLog = LogRateLimiter(burst: 500, each: .seconds(10))

    init(_ rules: SourceLimits, metrics: any MetricsFactory) {
        self.inForce = Mutex(rules)
        self.sources = SourceTable(rules)
        self.metrics = LimitMetrics(metrics)
    }

    var rules: SourceLimits { self.inForce.withLock { $0 } }

    /// Replaces the limits, starting with the next call.
    ///
    /// Sources keep their accounts, so a reload does not give any source a new burst.
    func use(_ rules: SourceLimits) {
        self.inForce.withLock { $0 = rules }
        self.sources.use(rules)
    }

    /// Takes one use from a source's allowance, or returns the failure if none is left.
    func take(_ limit: SourceLimit, of account: SourceAccount, at now: Timestamp) -> CallFailure? {
        let rules = self.rules
        if let wait = account.take(limit, rules, at: now) {
            return .rateLimited(limit, retryAfter: max(wait, SourceLimits.leastWait))
        }
        self.metrics.peaks[limit]?.note(account.used(limit, rules, at: now))
        return nil
    }

    /// Takes one deletion code from a source's allowance.
    func takeCode(of account: SourceAccount, at now: Timestamp, log: Logger) throws(CallFailure) {
        guard let limited = self.take(.codes, of: account, at: now) else { return }
        self.metrics.note(.codes, of: account.source, log: log)
        throw limited
    }

    /// Records the figures of the sources; called by the timer.
    func recordSources() {
        self.metrics.note(sources: self.sources.count)
        self.metrics.connectionPeak.note(self.sources.takeMostConnections())
        self.metrics.connectionPeak.record()
        for peaks in self.metrics.peaks.values { peaks.record() }
    }
}
