package import LoadReport
internal import Synchronization
internal import HistoryChecker
internal import Vocabulary

/// What happens to a run from outside of its load: what is told to it while it goes on, and what ends it.
///
/// A companion of the run, such as one that kills the server, tells it here; a person's Ctrl-C comes here as well.
package final class RunEvents: Sendable {
    private struct State {
        var clock: RunClock?
        var markers: [Marker] = []
        var sections: [ReportSection] = []
        var notes: [String] = []
        var serverPID: Int32?
        var serverDeath: Duration?
        /// Whether somebody ends the server's process and starts it again, or it was there after the plan's end.
        var isAttended = false
        var mayHaveCrashed = false
        var end: RunEnd?
        var failure: RunError?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter = 0
    }

    private let state = Mutex(State())
    /// Waits for the next wrong PIN's verdict.
    let ambush = VerdictTrigger()

    package init() {}

    // MARK: What is told

    /// Since the run's start; nil before it.
    package var now: Duration? { self.state.withLock { $0.clock?.now } }

    /// A line in the plots at this moment.
    package func mark(_ text: String) {
        self.state.withLock { state in
            if let now = state.clock?.now { state.markers.append(Marker(at: now, text)) }
        }
    }

    /// A table of its own in the report.
    package func add(_ section: ReportSection) { self.state.withLock { $0.sections.append(section) } }

    /// A sentence that a reader must know; told once.
    package func note(_ text: String) {
        self.state.withLock { state in
            if !state.notes.contains(text) { state.notes.append(text) }
        }
    }

    /// The server's process has ended: what it had not judged until now it never will.
    package func serverEnded() {
        self.state.withLock { state in
            state.serverDeath = state.clock?.now
            state.serverPID = nil
            state.isAttended = true
            state.mayHaveCrashed = true
        }
    }

    /// There is a new process of the server, to be watched from now on.
    package func serverStarted(pid: Int32) {
        self.state.withLock { $0.serverPID = pid }
    }

    /// The server opened a session after the plan's end.
    func serverIsThere() { self.state.withLock { $0.isAttended = true } }

    /// A connection was lost in the midst of a call, which a crash of the server does.
    func connectionWasLost() { self.state.withLock { $0.mayHaveCrashed = true } }

    // MARK: What ends it

    /// A person ends the run; it reports what was measured until then.
    package func interrupt() { self.end(.interrupted) }

    func end(_ end: RunEnd, failure: RunError? = nil) {
        let waiting = self.state.withLock { state in
            if state.end == nil { state.end = end }
            if state.failure == nil { state.failure = failure }
            defer { state.waiting = [:] }
            return state.waiting
        }
        for waiter in waiting.values { waiter.resume() }
    }

    /// Why it is to end early; nil while it is not.
    var endReason: RunEnd? { self.state.withLock { $0.end } }
    var failure: RunError? { self.state.withLock { $0.failure } }

    /// Returns when the run is to end early, or when the task is cancelled.
    func ends() async {
        let number = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = self.state.withLock { state in
                    guard state.end == nil, !Task.isCancelled else { return true }
                    state.waiting[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }

    // MARK: The engine's side

    func begin(_ clock: RunClock) { self.state.withLock { $0.clock = clock } }

    var serverPID: Int32? { self.state.withLock { $0.serverPID } }

    /// Whether it is known without the load's answers whether the server is there.
    var isAttended: Bool { self.state.withLock { $0.isAttended } }

    /// Whether the server may have lost what was not durable.
    var mayHaveCrashed: Bool { self.state.withLock { $0.mayHaveCrashed } }

    /// When the server's process ended, once for each end.
    func takeServerDeath() -> Duration? {
        self.state.withLock { state in
            defer { state.serverDeath = nil }
            return state.serverDeath
        }
    }

    var told: (markers: [Marker], sections: [ReportSection], notes: [String]) {
        self.state.withLock { ($0.markers, $0.sections, $0.notes) }
    }
}
