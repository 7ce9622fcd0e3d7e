/// The result of a run, used to create every report.
package struct RunResult: Sendable, Equatable {
    package var setting: RunSetting
    /// The intervals in chronological order, including the warm-up.
    package var intervals: [Interval] {
        didSet { self.totals = Totals(of: self.intervals) }
    }
    /// The sums over ``intervals``.
    package private(set) var totals: Totals
    package var thresholds: [ThresholdResult]
    package var end: RunEnd
    package var markers: [Marker]
    package var sections: [ReportSection]
    /// Facts that limit the validity of the measurements, for example a CPU shortage.
    package var notes: [String]

    package init(
        setting: RunSetting,
        intervals: [Interval],
        thresholds: [Threshold] = [],
        end: RunEnd,
        markers: [Marker] = [],
        sections: [ReportSection] = [],
        notes: [String] = []
    ) {
        let totals = Totals(of: intervals)
        self.setting = setting
        self.intervals = intervals
        self.totals = totals
        self.thresholds = thresholds.map { ThresholdResult($0, of: totals) }
        self.end = end
        self.markers = markers
        self.sections = sections
        self.notes = notes
    }

    /// The intervals after the warm-up.
    package var measuredIntervals: [Interval] { self.intervals.filter { !$0.isWarmup } }

    /// Whether the run passed, with no ``failures``.
    package var isSuccess: Bool { self.failures.isEmpty }

    /// The exit code of `pin-load run`.
    package var exitCode: Int32 {
        if !self.isSuccess { return 99 }
        return self.end == .interrupted ? 130 : 0
    }
}

/// The reason a run ended.
package enum RunEnd: String, Sendable, Equatable, Codable {
    /// The plan was completed.
    case completed
    /// A user interrupted the run.
    ///
    /// The report covers the time until then.
    case interrupted
    /// A threshold failed under `--abort-on-fail`.
    case aborted
    /// The server stopped answering.
    case lost
}

/// An event during a run, drawn as a vertical line in the plots.
package struct Marker: Sendable, Equatable, Codable {
    private let atMicros: Int64
    package let text: String

    /// - Parameter at: The time since the start of the run.
    package init(at: Duration, _ text: String) {
        self.atMicros = at.inMicroseconds
        self.text = text
    }

    /// The time since the start of the run.
    package var at: Duration { .microseconds(self.atMicros) }
}
