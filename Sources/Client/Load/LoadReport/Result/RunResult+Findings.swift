extension RunResult {
    /// The reasons the run failed, most severe first.
    ///
    /// Empty if it passed.
    var failures: [String] {
        var failures: [String] = []
        let violations = self.totals.violations.count
        if violations > 0 { failures.append("\(NumberText.count(violations)) violation\(violations == 1 ? "" : "s")") }
        let missed = self.thresholds.count { $0.verdict != .met }
        if missed > 0 { failures.append("\(missed) of \(self.thresholds.count) thresholds not met") }
        if self.end == .aborted, missed == 0 {
            failures.append("aborted by a threshold that was met again at the end")
        }
        if self.end == .lost { failures.append("the server stopped answering") }
        failures += self.sections.filter { $0.verdict == .failed }.map(\.title)
        return failures
    }

    /// Whether latency differs from service time, as it does in an open loop and in an attack, which sends all guesses
    /// at once.
    ///
    /// A closed loop sends each operation after the previous answer, so the two are the same.
    var hasDueTimes: Bool {
        self.intervals.contains { $0.gauges.plannedRate != nil }
            || self.totals.operations.values.contains { $0.latency != $0.serviceTime }
    }

    /// The event that ``OperationFigures/latency`` is measured from.
    var latencyOrigin: String { self.hasDueTimes ? "from the due time" : "from sending" }

    /// The notes, preceded by warnings if a closed loop hid a stall or had too little work.
    var remarks: [String] { [self.stall, self.waiting].compactMap(\.self) + self.notes }

    /// A warning about coordinated omission.
    ///
    /// A closed loop sends nothing during a stall, so few of its times show the stall.
    private var stall: String? {
        guard !self.hasDueTimes else { return nil }
        let stalled = self.measuredIntervals.filter {
            !$0.isTail && $0.gauges.inFlight > 0 && $0.totals.answered == 0
        }
        guard !stalled.isEmpty else { return nil }
        let seconds = stalled.reduce(0.0) { $0 + ($1.end - $1.start).inSeconds }
        return "no answer arrived for \(NumberText.fixed(seconds, 1)) s with operations in flight; a closed loop hides "
            + "such a stall (coordinated omission); use --rate to measure it"
    }

    /// A process that uses less than this fraction of a core counts as idle.
    private static let idleShare = 0.5

    /// A note if both processes were mostly idle in a closed loop, in which case its rate is not the server's limit.
    private var waiting: String? {
        let (totals, seconds) = (self.totals, self.totals.duration.inSeconds)
        guard !self.hasDueTimes, seconds > 0, totals.answered > 0,
            let server = totals.serverCores, server < Self.idleShare,
            let tool = totals.toolCores, tool < Self.idleShare
        else { return nil }
        let all = totals.figures().serviceTime
        // Little's law: the number of calls in flight is their rate times their duration.
        let inFlight = (all.mean ?? 0) * Double(all.count) / (seconds * 1_000_000)
        let reason =
            inFlight >= Self.idleShare * Double(totals.peakConnections)
            ? "the connections waited for answers, which waited for the disk or the network"
            : "the connections paused between operations (--think, new connections, blocked wallets)"
        return "limited by waiting, not by work: the server used \(NumberText.percent(server)) of a core, pin-load "
            + "\(NumberText.percent(tool)); on average \(NumberText.fixed(inFlight, 1)) of "
            + "\(NumberText.count(totals.peakConnections)) connections had a call in flight. Reason: \(reason). "
            + "More connections show the highest rate, --rate the times at a given one"
    }

    /// The end of the run, with the measured time and the target.
    var headline: String {
        let warmup = self.intervals.filter(\.isWarmup).reduce(0.0) { $0 + ($1.end - $1.start).inSeconds }
        let before = warmup > 0 ? " after \(NumberText.fixed(warmup, 1)) s of warm-up" : ""
        let measured = "\(NumberText.fixed(self.totals.duration.inSeconds, 1)) s measured"
        return "\(self.end.text) · \(measured)\(before) · \(self.setting.target)"
    }
}

extension RunEnd {
    var text: String {
        switch self {
        case .completed: "completed"
        case .interrupted: "interrupted"
        case .aborted: "aborted by a threshold"
        case .lost: "server lost"
        }
    }
}
