/// Sums over intervals.
///
/// Thresholds are evaluated on them during and after a run.
package struct Totals: Sendable, Equatable {
    /// The measured time, excluding the warm-up and the wait for answers after the end of the plan.
    private(set) var duration: Duration = .zero
    private(set) var operations: [Operation: OperationFigures] = [:]
    /// The number of operations that were due but not sent.
    package private(set) var unsent = 0
    /// The answers that no correct server would give, including those during the warm-up.
    package private(set) var violations = Violations()
    /// The CPU seconds used by the server process, or nil if never known.
    private(set) var serverCPUSeconds: Double?
    /// The peak resident memory of the server process, or nil if never known.
    private(set) var serverPeakResidentBytes: Int?
    /// The CPU seconds used by pin-load, or nil if never known.
    private(set) var toolCPUSeconds: Double?
    /// The peak number of open connections at the end of an interval.
    private(set) var peakConnections = 0
    /// The number of verdicts within ``duration``.
    private var answeredInTime: [Operation: Int] = [:]
    /// The CPU times within ``duration`` in seconds, or nil if unknown.
    private var serverCPUInTime: Double?
    private var toolCPUInTime: Double?
    /// The number of operations in the intervals whose server CPU time is known.
    private var operationsWithServerCPU = 0
    private var verificationSum = 0.0
    private var verificationCount = 0

    /// Creates empty sums.
    init() {}

    package init(of intervals: some Sequence<Interval>) {
        for interval in intervals { self.add(interval) }
    }

    /// Sums up `intervals`, with warm-up and tail counted as measured time.
    init(ofAll intervals: some Sequence<Interval>) {
        for var interval in intervals {
            (interval.isWarmup, interval.isTail) = (false, false)
            self.add(interval)
        }
    }

    /// Adds an interval.
    ///
    /// For a warm-up interval, only the violations are added, because a correct server causes none even then.
    mutating func add(_ interval: Interval) {
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
            if !interval.isTail { self.serverCPUInTime = (self.serverCPUInTime ?? 0) + seconds }
            self.operationsWithServerCPU += interval.operations.values.reduce(0) { $0 + $1.count }
        }
        if let bytes = interval.gauges.serverResidentBytes {
            self.serverPeakResidentBytes = max(self.serverPeakResidentBytes ?? 0, bytes)
        }
        if let seconds = interval.gauges.toolCPUSeconds {
            self.toolCPUSeconds = (self.toolCPUSeconds ?? 0) + seconds
            if !interval.isTail { self.toolCPUInTime = (self.toolCPUInTime ?? 0) + seconds }
        }
        if let microseconds = interval.gauges.verificationMicroseconds {
            self.verificationSum += microseconds
            self.verificationCount += 1
        }
    }

    /// Returns the sums for one operation, or for all operations.
    package func figures(of operation: Operation? = nil) -> OperationFigures {
        if let operation { return self.operations[operation] ?? OperationFigures() }
        return self.operations.values.reduce(into: OperationFigures()) { $0.add($1) }
    }

    /// The number of completed operations, successful or not.
    var count: Int { self.operations.values.reduce(0) { $0 + $1.count } }

    /// The number of operations that ended with a verdict.
    var answered: Int { self.operations.values.reduce(0) { $0 + $1.answered } }

    /// The verdicts per second, or nil if no time was measured.
    ///
    /// Verdicts after the end of the plan are excluded, and so is the time during which they arrived. They would show
    /// the effect of a lost answer or a backlog, not the server's rate during the measured time.
    package var rate: Double? { self.rate(of: nil) }

    /// Returns the verdicts per second for one operation, or for all operations.
    func rate(of operation: Operation?) -> Double? {
        self.perSecond(operation.map { self.answeredInTime[$0] ?? 0 } ?? self.answeredInTime.values.reduce(0, +))
    }

    /// Returns the count per second of measured time, or nil if no time was measured.
    func perSecond(_ count: Int) -> Double? {
        self.duration > .zero ? Double(count) / self.duration.inSeconds : nil
    }

    /// The mean number of cores that the server used, or nil if unknown.
    ///
    /// Like ``rate``, it leaves out the time after the end of the plan.
    package var serverCores: Double? { self.cores(self.serverCPUInTime) }

    /// The mean number of cores that pin-load used, or nil if unknown.
    ///
    /// Like ``rate``, it leaves out the time after the end of the plan.
    package var toolCores: Double? { self.cores(self.toolCPUInTime) }

    private func cores(_ seconds: Double?) -> Double? {
        guard let seconds, self.duration > .zero else { return nil }
        return seconds / self.duration.inSeconds
    }

    /// The server's CPU time per operation in µs, or nil if unknown.
    package var serverCPUMicrosecondsPerOperation: Double? {
        guard let seconds = self.serverCPUSeconds, self.operationsWithServerCPU > 0 else { return nil }
        return seconds * 1_000_000 / Double(self.operationsWithServerCPU)
    }

    /// The CPU time for one P-256 verification on the server's machine in µs, measured under load, or nil if unknown.
    var verificationMicroseconds: Double? {
        self.verificationCount > 0 ? self.verificationSum / Double(self.verificationCount) : nil
    }

    /// The cost of a single P-256 verification as a fraction of the server's cost per operation, or nil if unknown.
    ///
    /// Every PIN check requires one signature to be verified. A server that verifies signatures in batches pays less
    /// for each.
    var verificationShare: Double? {
        guard let verification = self.verificationMicroseconds, let cost = self.serverCPUMicrosecondsPerOperation,
            cost > 0
        else { return nil }
        return verification / cost
    }

    /// A note if pin-load was busy while the server was not, in which case pin-load limited the rate.
    package var toolLimitNote: String? {
        guard let tool = self.toolCores, let server = self.serverCores, tool > 0.75, server < tool / 4 else {
            return nil
        }
        func share(_ cores: Double) -> String { "\(Int((cores * 100).rounded()))%" }
        return "pin-load used \(share(tool)) of a core and the server \(share(server)): the tool limited rate and "
            + "times. Concurrent right and wrong guesses for one wallet are expensive to check; use fewer connections"
    }
}
