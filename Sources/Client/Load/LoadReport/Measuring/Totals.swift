/// Sums over intervals, on which thresholds are evaluated during a run and after it.
package struct Totals: Sendable, Equatable {
    /// The measured time, excluding the warm-up and the wait for answers after the end of the plan.
    package private(set) var duration: Duration = .zero
    package private(set) var operations: [Operation: OperationFigures] = [:]
    /// Operations that were due but were not sent.
    package private(set) var unsent = 0
    /// Answers that no correct server gives, including those of the warm-up.
    package private(set) var violations = Violations()
    /// CPU seconds of the server process; nil if never known.
    package private(set) var serverCPUSeconds: Double?
    /// The maximum resident memory of the server process; nil if never known.
    package private(set) var serverPeakResidentBytes: Int?
    /// CPU seconds of pin-load; nil if never known.
    package private(set) var toolCPUSeconds: Double?
    /// The maximum number of open connections at the end of an interval.
    package private(set) var peakConnections = 0
    /// Verdicts within ``duration``.
    private var answeredInTime: [Operation: Int] = [:]
    /// The operations of the intervals whose server CPU time is known.
    private var operationsWithServerCPU = 0
    private var verificationSum = 0.0
    private var verificationCount = 0

    /// Empty sums.
    package init() {}

    /// The sums of `intervals`.
    package init(of intervals: some Sequence<Interval>) {
        for interval in intervals { self.add(interval) }
    }

    /// The sums of `intervals` with warm-up and tail counted as measured time.
    package init(ofAll intervals: some Sequence<Interval>) {
        for var interval in intervals {
            (interval.isWarmup, interval.isTail) = (false, false)
            self.add(interval)
        }
    }

    /// Adds an interval.
    ///
    /// Only the violations of a warm-up interval are added: a correct server does not cause any, even during the
    /// warm-up.
    package mutating func add(_ interval: Interval) {
        self.violations.add(interval.violations)
        guard !interval.isWarmup else { return }
        if !interval.isTail { self.duration += interval.end - interval.start }
        for (operation, figures) in interval.operations {
            self.operations[operation, default: OperationFigures()].add(figures)
            if !interval.isTail { self.answeredInTime[operation, default: 0] += figures.answered }
        }
        self.unsent += interval.unsent
        self.peakConnections = max(self.peakConnections, interval.gauges.connections)
        if let seconds = interval.gauges.serverCPUSeconds {
            self.serverCPUSeconds = (self.serverCPUSeconds ?? 0) + seconds
            self.operationsWithServerCPU += interval.operations.values.reduce(0) { $0 + $1.count }
        }
        if let bytes = interval.gauges.serverResidentBytes {
            self.serverPeakResidentBytes = max(self.serverPeakResidentBytes ?? 0, bytes)
        }
        if let seconds = interval.gauges.toolCPUSeconds {
            self.toolCPUSeconds = (self.toolCPUSeconds ?? 0) + seconds
        }
        if let microseconds = interval.gauges.verificationMicroseconds {
            self.verificationSum += microseconds
            self.verificationCount += 1
        }
    }

    /// The sums of one operation, or of all operations.
    package func figures(of operation: Operation? = nil) -> OperationFigures {
        if let operation { return self.operations[operation] ?? OperationFigures() }
        return self.operations.values.reduce(into: OperationFigures()) { $0.add($1) }
    }

    /// Operations that ended, with any outcome.
    package var count: Int { self.operations.values.reduce(0) { $0 + $1.count } }

    /// Operations that ended with a verdict.
    package var answered: Int { self.operations.values.reduce(0) { $0 + $1.answered } }

    /// Verdicts per second; nil if no time was measured.
    ///
    /// Verdicts after the end of the plan, and the time in which they arrived, are excluded. They would show the effect
    /// of a lost answer or of a backlog, not the server's rate during the measured time.
    package var rate: Double? { self.rate(of: nil) }

    /// Verdicts per second of one operation, or of all operations.
    package func rate(of operation: Operation?) -> Double? {
        self.perSecond(operation.map { self.answeredInTime[$0] ?? 0 } ?? self.answeredInTime.values.reduce(0, +))
    }

    /// The count per second of measured time; nil if no time was measured.
    func perSecond(_ count: Int) -> Double? {
        self.duration > .zero ? Double(count) / self.duration.inSeconds : nil
    }

    /// CPU time of the server per operation in µs; nil if unknown.
    package var serverCPUMicrosecondsPerOperation: Double? {
        guard let seconds = self.serverCPUSeconds, self.operationsWithServerCPU > 0 else { return nil }
        return seconds * 1_000_000 / Double(self.operationsWithServerCPU)
    }

    /// CPU time in µs of one P-256 verification on the server's machine, measured during the load; nil if unknown.
    package var verificationMicroseconds: Double? {
        self.verificationCount > 0 ? self.verificationSum / Double(self.verificationCount) : nil
    }

    /// The cost of a single P-256 verification as a fraction of the server's cost per operation; nil if unknown.
    ///
    /// Every PIN check requires the verification of one signature. A server that verifies several signatures in one
    /// batch pays less for each.
    package var verificationShare: Double? {
        guard let verification = self.verificationMicroseconds, let cost = self.serverCPUMicrosecondsPerOperation,
            cost > 0
        else { return nil }
        return verification / cost
    }

    /// A note if pin-load was busy while the server was not, so that pin-load limited the rate; nil otherwise.
    package var toolLimitNote: String? {
        let seconds = self.duration.inSeconds
        guard let tool = self.toolCPUSeconds, let server = self.serverCPUSeconds, seconds > 0,
            tool > 0.75 * seconds, server < tool / 4
        else { return nil }
        func share(_ time: Double) -> String { "\(Int((time / seconds * 100).rounded()))%" }
        return "pin-load used \(share(tool)) of a core and the server \(share(server)): the tool limited rate and "
            + "times. Concurrent right and wrong guesses for one wallet are expensive to check; use fewer connections"
    }
}
