/// Sums over intervals: what thresholds look at, while a run goes on and after it.
package struct Totals: Sendable, Equatable {
    /// How long was measured: neither the warm-up, nor what was waited for after the plan's end.
    package private(set) var duration: Duration = .zero
    /// What was done, by operation.
    package private(set) var operations: [Operation: OperationFigures] = [:]
    /// Operations that were due and could not be sent.
    package private(set) var unsent = 0
    /// Answers that no correct server gives; those of the warm-up count as well.
    package private(set) var violations = Violations()
    /// CPU time of the server's process, in seconds; nil where it was never known.
    package private(set) var serverCPUSeconds: Double?
    /// The most memory that the server's process had; nil where it was never known.
    package private(set) var serverPeakResidentBytes: Int?
    /// CPU time of this tool, in seconds; nil where it was never known.
    package private(set) var toolCPUSeconds: Double?
    /// The most connections that were open at the end of an interval.
    package private(set) var peakConnections = 0
    /// Verdicts that came within ``duration``.
    private var answeredInTime: [Operation: Int] = [:]
    /// The operations of those intervals in which the server's CPU time is known.
    private var operationsWithServerCPU = 0
    /// The intervals' costs of a verification, summed, and how many there are.
    private var verificationSum = 0.0
    private var verificationCount = 0

    /// Nothing yet.
    package init() {}

    /// The sums of these.
    package init(of intervals: some Sequence<Interval>) {
        for interval in intervals { self.add(interval) }
    }

    /// The sums of these looked at by themselves: what is before or after the measured time as all others.
    package init(ofAll intervals: some Sequence<Interval>) {
        for var interval in intervals {
            (interval.isWarmup, interval.isTail) = (false, false)
            self.add(interval)
        }
    }

    /// Adds one; of the warm-up only the violations count, since no correct server gives them at any time.
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

    /// The sums of one kind of operation, or of all kinds.
    package func figures(of operation: Operation? = nil) -> OperationFigures {
        if let operation { return self.operations[operation] ?? OperationFigures() }
        return self.operations.values.reduce(into: OperationFigures()) { $0.add($1) }
    }

    /// Operations that ended, in whatever way.
    package var count: Int { self.operations.values.reduce(0) { $0 + $1.count } }

    /// Operations that ended with a verdict.
    package var answered: Int { self.operations.values.reduce(0) { $0 + $1.answered } }

    /// Verdicts per second; nil while no time has passed.
    ///
    /// What came after the plan's end is left out, with the time that it took: neither a lost answer that was waited for nor a
    /// backlog that was worked off says how many the server gave in the time that was measured.
    package var rate: Double? { self.rate(of: nil) }

    /// The same of one kind of operation, or of all kinds.
    package func rate(of operation: Operation?) -> Double? {
        self.perSecond(operation.map { self.answeredInTime[$0] ?? 0 } ?? self.answeredInTime.values.reduce(0, +))
    }

    /// The server's CPU time for one operation in µs; nil where it is not known.
    package var serverCPUMicrosecondsPerOperation: Double? {
        guard let seconds = self.serverCPUSeconds, self.operationsWithServerCPU > 0 else { return nil }
        return seconds * 1_000_000 / Double(self.operationsWithServerCPU)
    }

    /// CPU time in µs of one P-256 verification on the server's machine, measured beside the load; nil where it is not known.
    package var verificationMicroseconds: Double? {
        self.verificationCount > 0 ? self.verificationSum / Double(self.verificationCount) : nil
    }

    /// A sentence where this tool was busy while the server was not, so that the rate is the tool's; nil otherwise.
    package var toolsOwnLimit: String? {
        let seconds = self.duration / .seconds(1)
        guard let tool = self.toolCPUSeconds, let server = self.serverCPUSeconds, seconds > 0,
            tool > 0.75 * seconds, server < tool / 4
        else { return nil }
        func cores(_ time: Double) -> String { String(Int((time / seconds * 100).rounded())) + " %" }
        return
            "this tool used \(cores(tool)) of a core and the server \(cores(server)): rate and times are the tool's. Guesses right and "
            + "wrong at once for one wallet may have been judged in many orders, all of which it follows; fewer connections cost less"
    }

    /// How much of an operation's cost one P-256 verification by itself would be: the signature check that no PIN check can do
    /// without.
    ///
    /// A server that verifies several together pays less for each.
    package var verificationShare: Double? {
        guard let verification = self.verificationMicroseconds, let cost = self.serverCPUMicrosecondsPerOperation,
            cost > 0
        else { return nil }
        return verification / cost
    }

    /// So many a second of the measured time; nil while no time has passed.
    func perSecond(_ count: Int) -> Double? {
        self.duration > .zero ? Double(count) / self.duration.inSeconds : nil
    }
}

extension Duration {
    /// Seconds with a fraction.
    var inSeconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
