internal import LogLines
internal import Logging
internal import Vocabulary

/// A limit on the log lines about refused calls.
///
/// A refusal carries a correlation id that an operator may look for, so each one should have a
/// line. But a client can have calls refused as fast as its source may send them. A line for each
/// would fill the disk, which stops all PIN checks, or make the log daemon drop the lines that
/// matter. So each source has an allowance, and all sources together share another.
final class RefusalLogLimiter: Sendable {
    /// The allowance of one source.
    static let ofSource = Allowance(burst: 100, oneMoreEach: .seconds(1))

    /// Lines that an operator must see have a separate allowance, which other refusals cannot use
    /// up.
    private let warnings = LogRateLimiter(burst: 500, each: .seconds(10))
    private let others = LogRateLimiter(burst: 500, each: .seconds(10))

    /// Returns the number of lines suppressed before one that may be written, or nil if that one is
    /// suppressed.
    func allow(_ level: Logger.Level, of account: SourceAccount, at now: Timestamp) -> Int? {
        let lines = level >= .warning ? self.warnings : self.others
        guard account.refusalLines.take(Self.ofSource, at: now) == nil else {
            lines.suppress()
            return nil
        }
        return lines.allow()
    }
}
