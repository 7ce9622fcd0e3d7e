internal import Histogram
internal import Synchronization

/// Takes in what a run measures, from several event loops at once, and gives it out in intervals.
///
/// Each event loop records into a ``Lane`` of its own, so that the lock it takes is free but for the moment, once an interval, at
/// which the lane's counts are exchanged for empty ones. What happens in an interval is thus in exactly one interval, and nothing is
/// lost between two.
package final class Recorder: Sendable {
    private struct State {
        var lanes: [Lane] = []
        var unsent = 0
        var violations = Violations()
    }

    private let state = Mutex(State())
    private let shared: Lane

    package init() {
        let shared = Lane()
        self.shared = shared
        self.state.withLock { $0.lanes = [shared] }
    }

    /// A lane for one event loop; it lives as long as the recorder.
    package func makeLane() -> Lane {
        let lane = Lane()
        self.state.withLock { $0.lanes.append(lane) }
        return lane
    }

    /// Records from anywhere; the hot path has ``Lane/record(_:)``.
    package func record(_ sample: Sample) { self.shared.record(sample) }

    /// Operations that were due while as many as allowed were in flight.
    package func recordUnsent(_ count: Int) {
        self.state.withLock { $0.unsent += count }
    }

    /// An answer that no correct server gives, in words.
    package func recordViolation(_ text: String) {
        self.state.withLock { $0.violations.add(text) }
    }

    /// Everything since the last call, which begins anew.
    ///
    /// - Important: One caller at a time.
    package func takeInterval(
        from start: Duration,
        to end: Duration,
        isWarmup: Bool = false,
        isTail: Bool = false,
        stage: String? = nil,
        gauges: Gauges = Gauges()
    ) -> Interval {
        let taken = self.state.withLock { state in
            defer {
                state.unsent = 0
                state.violations = Violations()
            }
            return state
        }
        return Interval(
            from: start,
            to: end,
            isWarmup: isWarmup,
            isTail: isTail,
            stage: stage,
            operations: Self.gathered(taken.lanes),
            unsent: taken.unsent,
            violations: taken.violations,
            gauges: gauges
        )
    }

    private static func gathered(_ lanes: [Lane]) -> [Operation: OperationFigures] {
        var sums = LaneCounts()
        for lane in lanes { lane.take(into: &sums) }
        return sums.figures()
    }
}

/// Where one event loop records.
package final class Lane: Sendable {
    private struct State {
        var current = LaneCounts()
        /// Empty counts that wait for the next exchange, so that none are made while the lock is held.
        var spare = LaneCounts()
    }

    private let state = Mutex(State())

    init() {}

    /// Counts and times one operation; no allocation after the first of its kind.
    package func record(_ sample: Sample) {
        self.state.withLock { $0.current.record(sample) }
    }

    /// Adds what was recorded since the last call to `sums`, which begins anew.
    func take(into sums: inout LaneCounts) {
        var taken = self.state.withLock { state in
            let taken = state.current
            state.current = state.spare
            state.spare = LaneCounts()
            return taken
        }
        sums.add(taken)
        taken.reset()
        self.state.withLock { [taken] in $0.spare = taken }
    }
}
