internal import Logging
internal import Telemetry
internal import Metrics
internal import Synchronization
package import Vocabulary

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

/// Limits on the requests from one source.
///
/// Nil means no limit.
package struct SourceLimits: Hashable, Sendable {
    /// The shortest delay that a refusal asks for.
    ///
    /// A shorter one would be over before the round trip.
    static let leastWait: Duration = .seconds(1)

    /// The limit on calls over connections without a session.
    ///
    /// Calls over connections with one have a separate limit of the same size.
    package var calls: Allowance?
    /// The limit on BeginEnrollment and Register.
    package var enrollments: Allowance?
    /// The limit on deletion codes, over connections and through the portal.
    ///
    /// It only serves to limit the load, because a code has 90 random bits.
    package var codes: Allowance
    /// The period during which the server stops reading from a connection after a rate-limited call.
    ///
    /// A client that waits as requested does not notice the pause, but any other client is slowed down.
    package var pause: Duration
    /// The number of sources without a connection to remember.
    package var remembered: Int

    package init(
        calls: Allowance? = Allowance(500, each: .seconds(1), burst: 5_000),
        enrollments: Allowance? = Allowance(60, each: .seconds(60), burst: 300),
        codes: Allowance = Allowance(burst: 20, oneMoreEach: .seconds(1)),
        pause: Duration = .seconds(1),
        remembered: Int = 65_536
    ) {
        self.calls = calls
        self.enrollments = enrollments
        self.codes = codes
        self.pause = pause
        self.remembered = remembered
    }
}

/// A per-source limit that a call exceeded.
enum SourceLimit: String, CaseIterable, Sendable {
    case calls
    case sessionCalls = "session_calls"
    case enrollments
    case codes
}

/// Limits the log lines about refused calls.
///
/// A refusal contains a correlation id that an operator may look for, so each one should be logged. However, a client
/// can cause refusals as fast as its source may send calls. Logging all of them would fill the disk, which stops all
/// PIN checks, or make the log daemon drop the lines that matter. Each source therefore has an allowance, and all
/// sources together share another one.
final class RefusalLogLimiter: Sendable {
    /// The allowance for each source.
    static let ofSource = Allowance(burst: 100, oneMoreEach: .seconds(1))

    /// A separate allowance for lines that an operator must see, which other refusals cannot use up.
    private let warnings = LogRateLimiter(burst: 500, each: .seconds(10))
    private let others = LogRateLimiter(burst: 500, each: .seconds(10))

    /// Returns the number of lines suppressed before this one, or nil if this line is suppressed.
    func allow(_ level: Logger.Level, of account: SourceAccount, at now: Timestamp) -> Int? {
        let lines = level >= .warning ? self.warnings : self.others
        guard account.refusalLines.take(Self.ofSource, at: now) == nil else {  // rule: limits-refusals-fill-the-log
            lines.suppress()
            return nil
        }
        return lines.allow()
    }
}
