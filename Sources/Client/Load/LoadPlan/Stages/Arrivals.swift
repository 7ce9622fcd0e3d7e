/// The process by which checks become due in an open loop.
package enum ArrivalProcess: String, Hashable, Sendable, CaseIterable {
    /// Checks become due at even intervals.
    case constant
    /// Checks become due at random times, as if caused by many independent users.
    case poisson
}

/// The due times in an open loop, in order, for any schedule of rates.
///
/// Both processes advance along the schedule's integral, either in steps of 1 or in exponentially distributed steps.
/// The latter is an exact Poisson process even while the rate is ramping.
package struct Arrivals: Sendable {
    private let schedule: Schedule
    private let process: ArrivalProcess
    private var generator: PlanGenerator
    private var amount: Double
    /// The mean distance between two arrivals along the integral.
    private let step: Double

    /// - Parameter share: With constant arrivals, all shares together have the arrivals of the whole load. With Poisson
    ///   arrivals, each share is an independent process.
    package init(_ process: ArrivalProcess, _ schedule: Schedule, seed: UInt64, share: LoadShare = .whole) {
        self.schedule = schedule
        self.process = process
        self.generator = PlanGenerator(seed: seed, stream: 0xA221_7A15)
        self.amount = Double(share.number - 1)
        self.step = Double(share.count)
        if process == .poisson { self.amount = self.step * self.generator.nextExponential() }
    }

    /// Returns the next due time, relative to the start of the run.
    ///
    /// Returns nil after the end of the run.
    package mutating func next() -> Duration? {
        guard let time = self.schedule.time(of: self.amount) else { return nil }
        self.amount += self.step * (self.process == .constant ? 1 : self.generator.nextExponential())
        return time
    }
}
