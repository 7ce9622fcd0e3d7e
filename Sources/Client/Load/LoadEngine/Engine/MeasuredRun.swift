package import LoadReport
package import Vocabulary

/// What a run found, before it becomes a ``RunResult``.
package struct MeasuredRun: Sendable {
    /// By the server's clock.
    package let start: Timestamp
    package let intervals: [Interval]
    package let end: RunEnd
    package let markers: [Marker]
    package var sections: [ReportSection]
    package let notes: [String]
}

/// How far a run is.
package enum LoadProgress: Sendable {
    /// So many sessions are open before the clock starts.
    case opening(Int, of: Int)
    case running(RunSnapshot)
}

/// The last interval of a run and where it stands.
package struct RunSnapshot: Sendable {
    package let interval: Interval
    /// Without the warm-up.
    package let totals: Totals
    /// Of warm-up and stages.
    package let duration: Duration
    /// Wanted now: connections, or checks per second.
    package let load: Double
    /// Due and not sent yet, in an open loop.
    package let waiting: Int
    /// Thresholds that do not hold so far.
    package let failing: [String]
}
