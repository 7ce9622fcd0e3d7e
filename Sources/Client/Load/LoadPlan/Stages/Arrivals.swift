/// How checks become due in an open loop.
package enum ArrivalProcess: String, Hashable, Sendable, CaseIterable {
    /// Evenly, one after the other.
    case constant
    /// At random and independently of each other, as from many people who do not know of each other.
    case poisson
}

/// The due times of an open loop, in order, of any schedule of rates.
///
/// Both processes run on the schedule's integral: even steps of 1 there, or exponential ones, which gives an exact
/// Poisson process also while the rate ramps.
package struct Arrivals: Sendable {
    private let schedule: Schedule
    private let process: ArrivalProcess
    private var generator: PlanGenerator
    private var amount = 0.0

    package init(_ process: ArrivalProcess, _ schedule: Schedule, seed: UInt64) {
        self.schedule = schedule
        self.process = process
        self.generator = PlanGenerator(seed: seed, stream: 0xA221_7A15)
        if process == .poisson { self.amount = self.generator.nextExponential() }
    }

    /// When the next is due, since the run began; nil when the run has no more.
    package mutating func next() -> Duration? {
        guard let time = self.schedule.time(of: self.amount) else { return nil }
        self.amount += self.process == .constant ? 1 : self.generator.nextExponential()
        return time
    }
}
