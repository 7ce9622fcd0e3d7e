/// A whole run: what it was, what it measured and what was asked of it; every report is made from this.
package struct RunResult: Sendable, Equatable {
    /// What the fields of the JSON mean; a reader refuses a newer one.
    package static let schemaVersion = 1

    package var setting: RunSetting
    /// In the order of time, the warm-up's marked.
    package var intervals: [Interval] {
        didSet { self.totals = Totals(of: self.intervals) }
    }
    /// Sums of ``intervals``.
    package private(set) var totals: Totals
    /// What was asked of the run, and whether it was so.
    package var thresholds: [ThresholdResult]
    /// Why it ended.
    package var end: RunEnd
    /// What happened at a moment: a stage began, the server was killed.
    package var markers: [Marker]
    /// Tables of what only some runs have, an attack for instance.
    package var sections: [ReportSection]
    /// Sentences that a reader must know in order to trust the figures: the tool itself was short of CPU, for instance.
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

    /// Those that count.
    package var measuredIntervals: [Interval] { self.intervals.filter { !$0.isWarmup } }

    /// Whether every threshold held, also those that ended the run, no section reports a failure, no impossible answer came, and
    /// the server was there to the end.
    package var isSuccess: Bool { self.failures.isEmpty }

    /// The process's exit code as field testers know it.
    package var exitCode: Int32 {
        if !self.isSuccess { return 99 }
        return self.end == .interrupted ? 130 : 0
    }
}

/// What was run, where and against what.
package struct RunSetting: Sendable, Equatable, Codable {
    /// The words of the command line, the program's name first.
    package var command: [String]
    /// When it began, in ms since 1970.
    package var startMilliseconds: Int64
    /// From which every random choice follows.
    package var seed: UInt64
    /// Where the load went: host and port.
    package var target: String
    /// What the server says of itself, with its git id; nil where it is not known.
    package var serverBuild: String?
    /// This tool's version, with its git id.
    package var toolBuild: String
    /// Libraries whose version matters, libssl above all.
    package var libraries: [String: String]
    /// The plan, one `name: value` for each choice, in the order in which it is told.
    package var plan: [PlanEntry]
    package var machine: Machine

    package init(
        command: [String],
        startMilliseconds: Int64,
        seed: UInt64,
        target: String,
        serverBuild: String? = nil,
        toolBuild: String,
        libraries: [String: String] = [:],
        plan: [PlanEntry],
        machine: Machine
    ) {
        self.command = command
        self.startMilliseconds = startMilliseconds
        self.seed = seed
        self.target = target
        self.serverBuild = serverBuild
        self.toolBuild = toolBuild
        self.libraries = libraries
        self.plan = plan
        self.machine = machine
    }
}

/// One choice of a plan, as people read it and as `compare` finds what differs.
package struct PlanEntry: Sendable, Equatable, Codable {
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Why a run ended.
package enum RunEnd: String, Sendable, Equatable, Codable {
    /// All of the plan was done.
    case completed
    /// A person ended it; the report holds what was measured until then.
    case interrupted
    /// A threshold failed, and the run was told to end then.
    case aborted
    /// The server could not be reached any more.
    case lost
}

/// A moment worth a line in a plot.
package struct Marker: Sendable, Equatable {
    /// Since the run's start.
    package let at: Duration
    package let text: String

    package init(at: Duration, _ text: String) {
        self.at = at
        self.text = text
    }
}

/// A table of its own in every report that people read.
package struct ReportSection: Sendable, Equatable, Codable {
    /// What a section says of the run.
    package enum Verdict: String, Sendable, Codable {
        /// What was to hold, held.
        case passed
        /// It did not, and the run fails.
        case failed
        /// There was nothing to hold.
        case neutral
    }

    package let title: String
    /// A sentence below the title; empty for none.
    package let summary: String
    package let columns: [String]
    /// As many texts in each as there are columns.
    package let rows: [[String]]
    package let verdict: Verdict

    package init(
        title: String,
        summary: String = "",
        columns: [String],
        rows: [[String]],
        verdict: Verdict = .neutral
    ) {
        self.title = title
        self.summary = summary
        self.columns = columns
        self.rows = rows
        self.verdict = verdict
    }
}
