extension RunResult {
    /// Whether operations became due by themselves, as in an open loop, or all at once, as in an attack; otherwise each was
    /// sent when the one before it had ended, and there is no time before the sending.
    var hasDueTimes: Bool {
        self.intervals.contains { $0.gauges.plannedRate != nil }
            || self.totals.operations.values.contains { $0.latency != $0.serviceTime }
    }

    /// What the times of all latencies count from, as a table or a plot is called.
    var latencyOrigin: String { self.hasDueTimes ? "from the due time" : "from sending" }

    /// The notes, and before them what a closed loop hides.
    var remarks: [String] { (self.silence.map { [$0] } ?? []) + self.notes }

    /// A sentence where a closed loop waited with the server: nothing was sent meanwhile that could have shown how long.
    private var silence: String? {
        guard !self.hasDueTimes else { return nil }
        let silent = self.measuredIntervals.filter {
            !$0.isTail && $0.gauges.inFlight > 0 && $0.totals.answered == 0
        }
        guard !silent.isEmpty else { return nil }
        let seconds = silent.reduce(0.0) { $0 + ($1.end - $1.start).inSeconds }
        return
            "for \(Figure.fixed(seconds, 1)) s no answer came while operations were under way: a closed loop sends nothing "
            + "meanwhile, so that hardly any of its times show it; a rate does (--rate)"
    }
}
