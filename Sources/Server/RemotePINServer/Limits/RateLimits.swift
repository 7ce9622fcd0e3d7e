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
    let falseSigners = FalseSigners()
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

    /// Takes one deletion code from a source's allowance.
    func takeCode(of account: SourceAccount, at now: Timestamp, log: Logger) throws(CallFailure) {
        guard let wait = account.codes.take(self.rules.codes, at: now) else { return }
        self.metrics.note(.codes, of: account.source, log: log)
        throw .rateLimited(.codes, retryAfter: max(wait, SourceLimits.leastWait))
    }
}
