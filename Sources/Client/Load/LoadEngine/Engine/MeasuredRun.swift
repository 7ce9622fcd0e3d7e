package import LoadReport
package import Vocabulary

/// The measurements of a run, before they become a ``RunResult``.
package struct MeasuredRun: Sendable {
    /// The start according to the server's clock.
    package let start: Timestamp
    package let intervals: [Interval]
    package let end: RunEnd
    package let markers: [Marker]
    package var sections: [ReportSection]
    package let notes: [String]
}

/// The progress of a run.
package enum LoadProgress: Sendable {
    /// The number of sessions open before the clock starts.
    case opening(Int, of: Int)
    /// The time until the plan begins, with all sessions open.
    case waiting(Duration)
    case running(RunSnapshot)
}

/// The last interval of a run, and its totals so far.
package struct RunSnapshot: Sendable {
    package let interval: Interval
    /// Without the warm-up.
    package let totals: Totals
    /// The length of warm-up and stages.
    package let duration: Duration
    /// The current target of the schedule: connections, or checks per second.
    package let load: Double
    /// Checks due and not sent yet, in an open loop.
    package let waiting: Int
    /// Checks sent again so far because no response arrived.
    package let repeated: Int
    /// The thresholds that do not hold so far.
    package let failing: [String]
}
