public import LoadReport
public import Vocabulary

/// What a run found, before it becomes a ``RunResult``.
public struct MeasuredRun: Sendable {
    /// By the server's clock.
    public let start: Timestamp
    public let intervals: [Interval]
    public let end: RunEnd
    public let markers: [Marker]
    public var sections: [ReportSection]
    public let notes: [String]
}

/// How far a run is.
public enum RunProgress: Sendable {
    /// So many sessions are open before the clock starts.
    case opening(Int, of: Int)
    case running(RunMoment)
}

/// The last interval of a run and where it stands.
public struct RunMoment: Sendable {
    public let interval: Interval
    /// Without the warm-up.
    public let totals: Totals
    /// Of warm-up and stages.
    public let duration: Duration
    /// Wanted now: connections, or checks per second.
    public let load: Double
    /// Due and not sent yet, in an open loop.
    public let waiting: Int
    /// Thresholds that do not hold so far.
    public let failing: [String]
}
