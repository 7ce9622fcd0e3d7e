internal import Synchronization

/// Records the operations from several event loops and returns them in intervals.
///
/// Each event loop records into its own ``Lane``. The lane's lock is contended only once per interval, when its counts
/// are swapped for empty ones. Each operation is therefore counted in exactly one interval.
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

    /// Returns a new lane for one event loop.
    package func makeLane() -> Lane {
        let lane = Lane()
        self.state.withLock { $0.lanes.append(lane) }
        return lane
    }

    /// Records an operation from any thread.
    ///
    /// Event loops use ``Lane/record(_:)``.
    package func record(_ sample: Sample) { self.shared.record(sample) }

    /// Counts operations that were due while the maximum number was in flight.
    package func recordUnsent(_ count: Int) {
        self.state.withLock { $0.unsent += count }
    }

    /// Records an answer that no correct server would give.
    package func recordViolation(_ text: String) {
        self.state.withLock { $0.violations.add(text) }
    }

    /// Returns everything recorded since the last call.
    ///
    /// - Important: Calls must not overlap.
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

/// The part of a recorder that a single event loop writes to.
package final class Lane: Sendable {
    private let counts = Mutex(LaneCounts())

    init() {}

    /// Records one operation.
    ///
    /// Allocates only for the first operation of each kind.
    package func record(_ sample: Sample) {
        self.counts.withLock { $0.record(sample) }
    }

    /// Adds everything recorded since the last call to `sums`.
    func take(into sums: inout LaneCounts) {
        // The new counts are created without the lock. Zeroing their memory takes a tenth of the time that resetting
        // the used ones would take, while an event loop on the same core waits.
        let empty = LaneCounts(ranks: self.counts.withLock(\.ranks))
        let taken = self.counts.withLock { exchange(&$0, with: empty) }
        sums.add(taken)
    }
}
