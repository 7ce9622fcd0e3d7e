internal import LogLines
internal import Logging
internal import Vocabulary

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
        guard account.refusalLines.take(Self.ofSource, at: now) == nil else {
            lines.suppress()
            return nil
        }
        return lines.allow()
    }
}
