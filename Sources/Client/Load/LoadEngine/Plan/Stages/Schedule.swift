/// The load at each moment of a run, and its integral up to that moment.
///
/// Both are exact, because the load is piecewise linear. The stages are preceded by a warm-up with the load of the
/// first stage.
package struct Schedule: Hashable, Sendable {
    private struct Segment: Hashable, Sendable {
        var name: String
        /// The start, in seconds since the start of the run.
        var start: Double
        var length: Double
        var from: Double
        var to: Double
        /// The integral up to `start`.
        var before: Double

        var end: Double { self.start + self.length }
        var area: Double { (self.from + self.to) / 2 * self.length }

        func level(at time: Double) -> Double {
            guard self.length > 0 else { return self.to }
            return self.from + (self.to - self.from) * (time - self.start) / self.length
        }
    }

    private let segments: [Segment]
    /// The initial period whose results are discarded.
    package let warmup: Duration
    /// The duration of the warm-up and all stages.
    package let duration: Duration

    package init(_ stages: Stages, warmup: Duration = .zero) {
        var segments: [Segment] = []
        func add(_ name: String, _ duration: Duration, from: Double, to: Double) {
            let (start, before) = segments.last.map { ($0.end, $0.before + $0.area) } ?? (0, 0)
            segments.append(
                Segment(name: name, start: start, length: duration / .seconds(1), from: from, to: to, before: before)
            )
        }
        let first = stages.stages.lazy.compactMap { stage -> Double? in
            switch stage.shape {
            case .ramp(let level), .at(let level): level
            case .hold: nil
            }
        }.first
        if warmup > .zero { add("warm-up", warmup, from: first ?? 0, to: first ?? 0) }
        var level = 0.0
        for (number, stage) in stages.stages.enumerated() {
            let name = stage.name.isEmpty ? "stage \(number + 1)" : stage.name
            switch stage.shape {
            case .ramp(let target):
                add(name, stage.duration, from: level, to: target)
                level = target
            case .at(let target):
                add(name, stage.duration, from: target, to: target)
                level = target
            case .hold: add(name, stage.duration, from: level, to: level)
            }
        }
        self.segments = segments
        self.warmup = max(warmup, .zero)
        self.duration = self.warmup + stages.duration
    }

    /// Returns the load at a time since the start of the run, or 0 outside the run.
    package func level(at time: Duration) -> Double {
        let seconds = time / .seconds(1)
        return self.segment(at: seconds)?.level(at: seconds) ?? 0
    }

    /// Returns the name of the stage at that time, or an empty string after the run.
    package func name(at time: Duration) -> String { self.segment(at: time / .seconds(1))?.name ?? "" }

    /// The integral of the load over the whole run.
    ///
    /// For a rate, this is the number of checks that become due.
    package var total: Double { self.segments.last.map { $0.before + $0.area } ?? 0 }

    /// Returns the time at which the integral reaches `amount`, or nil if the run ends before that.
    package func time(of amount: Double) -> Duration? {
        guard amount >= 0, amount < self.total,
            let index = self.firstSegment(where: { $0.before + $0.area > amount })
        else { return nil }
        let segment = self.segments[index]
        let rest = amount - segment.before
        guard rest > 0 else { return .seconds(segment.start) }
        let slope = segment.length > 0 ? (segment.to - segment.from) / segment.length : 0
        // The smaller root of slope/2·x² + from·x = rest, in the form that avoids cancellation.
        let root = (segment.from * segment.from + 2 * slope * rest).squareRoot()
        return .seconds(segment.start + min(2 * rest / (segment.from + root), segment.length))
    }

    private func segment(at time: Double) -> Segment? {
        guard time >= 0, let index = self.firstSegment(where: { $0.end > time }) else { return nil }
        return self.segments[index]
    }

    /// Finds the first match by binary search: once the condition holds, it holds for all later segments.
    private func firstSegment(where isReached: (Segment) -> Bool) -> Int? {
        var (low, high) = (0, self.segments.count)
        while low < high {
            let middle = (low + high) / 2
            if isReached(self.segments[middle]) { high = middle } else { low = middle + 1 }
        }
        return low < self.segments.count ? low : nil
    }
}

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

    /// Returns the next due time, relative to the start of the run, or nil after the end of the run.
    package mutating func next() -> Duration? {
        guard let time = self.schedule.time(of: self.amount) else { return nil }
        self.amount += self.step * (self.process == .constant ? 1 : self.generator.nextExponential())
        return time
    }
}
