internal import LogLines
internal import Logging
internal import Vocabulary

/// Which refused calls get a line in the log.
///
/// Each is told with a correlation id that an operator may look for, so each has a line; but whoever connects can have
/// calls refused as fast as a source may send them, and a line for all would fill the disk, where nobody would be checked any
/// more, or have the system drop the lines that matter. So a source has an allowance of them, and all sources together.
final class RefusalLines: Sendable {
    /// What one source gets.
    static let ofSource = Allowance(burst: 100, oneMoreEach: .seconds(1))

    /// Those for an operator to look at do not go short for others' sake.
    private let warnings = LineAllowance(burst: 500, each: .seconds(10))
    private let others = LineAllowance(burst: 500, each: .seconds(10))

    /// Takes a line: how many were left out before it; nil where this one is left out as well.
    func take(_ level: Logger.Level, of account: SourceAccount, at now: Timestamp) -> Int? {
        let lines = level >= .warning ? self.warnings : self.others
        guard account.refusalLines.take(Self.ofSource, at: now) == nil else {
            lines.leaveOut()
            return nil
        }
        return lines.take()
    }
}
