package import LoadReport
package import Vocabulary

/// The measurements of a run, before they are turned into a ``RunResult``.
package struct MeasuredRun: Sendable {
    /// The start time according to the server's clock.
    package let start: Timestamp
    package let intervals: [Interval]
    package let end: RunEnd
    package let markers: [Marker]
    package var sections: [ReportSection]
    package let notes: [String]
}

/// The progress of a run.
package enum LoadProgress: Sendable {
    /// Sessions are being opened before the clock starts.
    ///
    /// The first value is the number of open sessions.
    case opening(Int, of: Int)
    /// All sessions are open, and the plan will start after this time.
    case waiting(Duration)
    case running(RunSnapshot)
}

/// The last interval of a run, and the totals so far.
package struct RunSnapshot: Sendable {
    package let interval: Interval
    /// The totals, excluding the warm-up.
    package let totals: Totals
    /// The length of the warm-up and all stages.
    package let duration: Duration
    /// The schedule's current target: connections, or checks per second.
    package let load: Double
    /// In an open loop, the number of checks that are due but have not been sent yet.
    package let waiting: Int
    /// The number of checks that were sent again because no response arrived.
    package let repeated: Int
    /// The thresholds that are not met so far.
    package let failing: [String]
}
