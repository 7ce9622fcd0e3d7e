internal import Synchronization
internal import Vocabulary

/// The events of a run that are not caused by its load: markers and notes for the report, and reasons to end early.
///
/// Companions of the run, such as one that kills the server, report their events here, and so does the Ctrl-C handler.
package final class RunEvents: Sendable {
    private struct State {
        var clock: RunClock?
        var markers: [Marker] = []
        var sections: [ReportSection] = []
        var notes: [String] = []
        var serverPID: Int32?
        var serverDeath: Duration?
        var isServerStateKnown = false
        var mayHaveCrashed = false
        var end: RunEnd?
        var failure: RunError?
    }

    private let state = Mutex(State())
    /// Fires on the next verdict on a wrong PIN.
    let verdictTrigger = VerdictTrigger()

    package init() {}

    // MARK: Reported events

    /// The time since the start of the run, or nil before the start.
    package var now: Duration? { self.state.withLock { $0.clock?.now } }

    /// Adds a vertical line to the plots at the current time.
    package func mark(_ text: String) {
        self.state.withLock { state in
            if let now = state.clock?.now { state.markers.append(Marker(at: now, text)) }
        }
    }

    /// Adds a table to the report.
    package func add(_ section: ReportSection) { self.state.withLock { $0.sections.append(section) } }

    /// Adds a sentence to the report, unless it is already there.
    package func note(_ text: String) {
        self.state.withLock { state in
            if !state.notes.contains(text) { state.notes.append(text) }
        }
    }

    /// Reports that the server's process has ended.
    ///
    /// It will not judge any more operations.
    package func serverEnded() {
        self.state.withLock { state in
            state.serverDeath = state.clock?.now
            state.serverPID = nil
            state.isServerStateKnown = true
            state.mayHaveCrashed = true
        }
    }

    /// Reports a new server process, which the run monitors from now on.
    package func serverStarted(pid: Int32) { self.state.withLock { $0.serverPID = pid } }

    /// Reports that the server opened a session after the end of the plan.
    func serverResponded() { self.state.withLock { $0.isServerStateKnown = true } }

    /// Reports that a connection was lost during a call, which may mean that the server crashed.
    func connectionWasLost() { self.state.withLock { $0.mayHaveCrashed = true } }

    // MARK: The end

    /// Ends the run at the user's request.
    ///
    /// The run still reports its measurements so far.
    package func interrupt() { self.end(.interrupted) }

    func end(_ end: RunEnd, failure: RunError? = nil) {
        self.state.withLock { state in
            state.end = state.end ?? end
            state.failure = state.failure ?? failure
        }
    }

    /// The reason for ending early, if any.
    var endReason: RunEnd? { self.state.withLock { $0.end } }
    var failure: RunError? { self.state.withLock { $0.failure } }

    /// Returns when the run should end early or the task is cancelled.
    func ends() async {
        while self.endReason == nil, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(20)) }
    }

    // MARK: The engine's side

    func begin(_ clock: RunClock) { self.state.withLock { $0.clock = clock } }

    var serverPID: Int32? { self.state.withLock { $0.serverPID } }

    /// Whether a companion manages the server's process, or the server responded after the end of the plan.
    ///
    /// In both cases, missing responses do not mean that the server is gone.
    var isServerStateKnown: Bool { self.state.withLock { $0.isServerStateKnown } }

    /// Whether the server may have lost data that was not durable.
    var mayHaveCrashed: Bool { self.state.withLock { $0.mayHaveCrashed } }

    /// Returns the time at which the server's process ended, or nil if it has not ended or if the time was already
    /// returned.
    func takeServerDeath() -> Duration? {
        self.state.withLock { state in
            defer { state.serverDeath = nil }
            return state.serverDeath
        }
    }

    /// Creates the result of a run with these intervals.
    func measured(_ intervals: [Interval], from start: Timestamp, end: RunEnd) -> MeasuredRun {
        self.state.withLock { state in
            MeasuredRun(
                start: start,
                intervals: intervals,
                end: state.end ?? end,
                markers: state.markers,
                sections: state.sections,
                notes: state.notes
            )
        }
    }
}
