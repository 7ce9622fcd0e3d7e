internal import HostSystem
internal import LoadReport
internal import LoadEngine
internal import Synchronization

/// Says on standard error how an attack goes on: a line about once a second, on a terminal in the place of the one before.
final class AttackDisplay: Sendable {
    private let isInPlace: Bool
    private let isStopping = Mutex(false)

    init(wantsLines: Bool) {
        self.isInPlace = Terminal.isTerminal(2) && !wantsLines
    }

    func begin(_ plan: BurstPlan, address: String) {
        let over = plan.connections == 1 ? "one connection" : "\(plan.connections) connections"
        StandardStreams.writeError(
            "attacking \(address): \(plan.repetitions) bursts of \(plan.size) guesses over \(over), seed \(plan.seed)\n"
        )
    }

    func hear(_ progress: BurstAttack.Progress) {
        self.isStopping.withLock { isStopping in
            let line = (isStopping ? "stopping · " : "") + Self.line(progress)
            let columns = Terminal.columns(of: 2) ?? 80
            StandardStreams.writeError(self.isInPlace ? "\r\u{1B}[K" + line.prefix(columns - 1) : line + "\n")
        }
    }

    /// Someone asked to stop.
    func stop() {
        self.isStopping.withLock { isStopping in
            isStopping = true
            let home = self.isInPlace ? "\r\u{1B}[K" : ""
            StandardStreams.writeError(home + "stopping after this burst (again: ends at once)\n")
        }
    }

    func end() {
        if self.isInPlace { StandardStreams.writeError("\r\u{1B}[K") }
    }

    /// What matters most first: a narrow terminal cuts the rest off.
    private static func line(_ progress: BurstAttack.Progress) -> String {
        let statistics = progress.statistics
        var parts = [
            "\(progress.bursts) of \(progress.of) bursts",
            "\(RunWords.clock(progress.elapsed)), \(RunWords.clock(progress.left)) left",
            "right got in \(Figure.percent(statistics.share)), allowed \(Figure.percent(statistics.bound))",
            "errors \(RunWords.errors(progress.totals))",
            RunWords.latency(progress.totals),
            RunWords.verdicts(progress.totals),
        ]
        let violations = progress.totals.violations.count
        if violations > 0 { parts.insert("\(violations) VIOLATIONS", at: 1) }
        return parts.joined(separator: " · ")
    }
}
