internal import Glibc
internal import HostSystem
package import Lab
package import LabFiles
internal import Synchronization
internal import Vocabulary

/// A lab's server that is started by a run, then repeatedly killed and restarted under load.
///
/// The server can be killed at any moment: during a commit, before a response, or with guesses in flight. The wallets'
/// histories then show whether a crash allowed additional guesses or lost the verdict on a right PIN.
package final class CrashingServer: Sendable {
    /// A reason why the server cannot be started.
    ///
    /// Each description says how to fix it.
    package enum Problem: Error, Sendable, CustomStringConvertible {
        case noProgram
        case alreadyServed(pid: Int32)
        case notReady(ServerProgram.NotReady)
        case lab(LabError)

        package var description: String {
            switch self {
            case .noProgram: "\(ServerProgram.name) is not next to this program; name it with --server-program"
            case .alreadyServed(let pid):
                "the lab is being served by process \(pid); stop it first, because the run must start the server itself"
            case .notReady(let error): error.description
            case .lab(let error): error.description
            }
        }
    }

    /// The server was killed and restarted.
    struct Crash: Sendable {
        /// The time since the start of the run.
        let at: Duration
        /// Whether a verdict on a wrong PIN had just arrived.
        let isAtVerdict: Bool
        /// The time from the signal until the process ended.
        let dying: Duration
        /// The time from the restart until the server accepted connections.
        let starting: Duration
    }

    /// The server was killed and did not serve again.
    enum UnfinishedCrash: Sendable {
        case notBack
        /// The run was ended during the restart.
        case cutOff
    }

    private struct State {
        var program: ServerProgram
        var crashes: [Crash] = []
        var last: UnfinishedCrash?
    }

    /// The time limit for the first start, and the default for each restart.
    package static let patience: Duration = .seconds(30)

    private let lab: LabFolder
    private let binary: String
    private let patience: Duration
    private let state: Mutex<State>

    private init(_ lab: LabFolder, _ binary: String, _ program: ServerProgram, patience: Duration) {
        self.lab = lab
        self.binary = binary
        self.patience = patience
        self.state = Mutex(State(program: program))
    }

    /// Starts the server of a lab that is not being served.
    ///
    /// - Parameters:
    ///   - program: The server program. If nil, the one next to this program is used.
    ///   - patience: The time limit for each restart after a kill.
    package static func start(
        _ lab: LabFolder,
        program: String? = nil,
        returningWithin patience: Duration = CrashingServer.patience
    ) async throws(Problem) -> CrashingServer {
        guard let binary = program ?? ServerProgram.besideThisProgram else { throw .noProgram }
        let file = try mapError(LabFile(of: lab), to: Problem.lab)
        if file.port > 0, let pid = ListeningProcess.pid(onPort: file.port) { throw .alreadyServed(pid: pid) }
        let program = try await mapError(of: await Self.serve(lab, binary, within: Self.patience), to: Problem.notReady)
        return CrashingServer(lab, binary, program, patience: patience)
    }

    private static func serve(
        _ lab: LabFolder,
        _ binary: String,
        within patience: Duration
    ) async throws(ServerProgram.NotReady) -> ServerProgram {
        try await ServerProgram.start(binary, ["serve", lab.path, "--follow-input"], within: patience)
    }

    package var processID: Int32 { self.state.withLock(\.program).processID }

    /// Kills the server at each multiple of the interval until the task is cancelled.
    ///
    /// Called by a run as a companion. Every other kill waits for the next verdict on a wrong PIN and happens the
    /// moment it arrives.
    package func crash(every interval: Duration, telling events: RunEvents) async {
        var (next, number) = (interval, 0)
        while !Task.isCancelled, let now = events.now {
            try? await Task.sleep(for: max(.zero, next - now), tolerance: .zero)
            number += 1
            guard !Task.isCancelled, await self.crashOnce(atVerdict: number.isMultiple(of: 2), telling: events) else {
                return
            }
            next += interval
            // If the restart took longer than the interval, let the server run for a whole interval.
            if let now = events.now, next < now { next = now + interval }
        }
    }

    /// The time limit when waiting for a verdict.
    private static let verdictTimeout: Duration = .milliseconds(500)

    /// Kills the program at the next verdict on a wrong PIN; returns false if no verdict arrived in time.
    private func killAtVerdict(_ program: ServerProgram, telling events: RunEvents) async -> Bool {
        let (verdicts, verdict) = AsyncStream<Bool>.makeStream()
        events.verdictTrigger.arm {
            program.send(SIGKILL)
            verdict.yield(true)
        }
        let timer = Task {
            try? await Task.sleep(for: Self.verdictTimeout)
            verdict.yield(false)
        }
        defer { timer.cancel() }
        for await hasCome in verdicts {
            events.verdictTrigger.disarm()
            return hasCome
        }
        return false
    }

    /// Kills and restarts the server; returns false if it did not come back.
    private func crashOnce(atVerdict: Bool, telling events: RunEvents) async -> Bool {
        let program = self.state.withLock(\.program)
        let isAtVerdict = atVerdict ? await self.killAtVerdict(program, telling: events) : false
        // The end of the plan does not cancel the restart, so a hanging server is detected. An early end does cancel
        // it.
        let crash = Task { await self.crash(program, isAtVerdict: isAtVerdict, telling: events) }
        let ending = Task {
            await events.ends()
            crash.cancel()
        }
        defer { ending.cancel() }
        return await crash.value
    }

    /// Kills the program and restarts it until the task is cancelled; returns false if it did not come back.
    private func crash(_ program: ServerProgram, isAtVerdict: Bool, telling events: RunEvents) async -> Bool {
        let (at, killed) = (events.now ?? .zero, ContinuousClock.now)
        let isGone = await program.kill(within: self.patience)
        let died = ContinuousClock.now
        guard isGone else {
            let sentence =
                "the server was killed and a child process of it is still running: a start script has to `exec` it"
            return self.isLost(sentence, telling: events)
        }
        events.serverEnded()
        events.mark("server killed")
        do throws(ServerProgram.NotReady) {
            let next = try await Self.serve(self.lab, self.binary, within: self.patience)
            let ready = ContinuousClock.now
            self.state.withLock { state in
                state.program = next
                state.crashes.append(
                    Crash(at: at, isAtVerdict: isAtVerdict, dying: died - killed, starting: ready - died)
                )
            }
            events.serverStarted(pid: next.processID)
            events.mark("server ready again")
            return true
        } catch {
            let late = error.patience.map { " within \($0) and was killed" } ?? ""
            let words = error.output.isEmpty ? "it wrote nothing" : error.output
            return self.isLost("the server did not come back\(late): \(words)", telling: events)
        }
    }

    /// Ends the run because the server is gone, unless the run is ending anyway.
    private func isLost(_ sentence: String, telling events: RunEvents) -> Bool {
        guard !Task.isCancelled else {
            self.state.withLock { $0.last = .cutOff }
            return false
        }
        self.state.withLock { $0.last = .notBack }
        events.note(sentence)
        events.end(.lost)
        return false
    }

    /// Terminates the server.
    ///
    /// Kills it if it does not end in time.
    package func stop() async { await self.state.withLock(\.program).terminate(within: self.patience) }

    package var section: ReportSection {
        let (crashes, last) = self.state.withLock { ($0.crashes, $0.last) }
        let times = crashes.map(\.starting).sorted()
        var summary = "killed \(crashes.count + (last == nil ? 0 : 1)) times with SIGKILL"
        if let last = times.last {
            summary +=
                "; ready again after \(Self.text(times[times.count / 2])) at the median, \(Self.text(last)) at most"
        }
        switch last {
        case .notBack: summary += "; it did not come back from the last"
        case .cutOff: summary += "; the run was ended while it was coming back from the last"
        case nil: break
        }
        return ReportSection(
            title: "Crashes",
            summary: summary,
            columns: ["crash", "at", "killed", "gone after", "ready after"],
            rows: crashes.enumerated().map { number, crash in
                [
                    .count(number + 1), .micros(Int64(crash.at / .microseconds(1))),
                    .text(crash.isAtVerdict ? "at a verdict" : "by the clock"),
                    .micros(Int64(crash.dying / .microseconds(1))), .micros(Int64(crash.starting / .microseconds(1))),
                ]
            },
            verdict: last == .notBack ? .failed : .neutral
        )
    }

    private static func text(_ duration: Duration) -> String { "\(duration.milliseconds) ms" }
}

/// Runs an action at the moment the next verdict on a wrong PIN arrives.
///
/// A server that releases verdicts before they are durable makes them durable a fraction of a millisecond later. A kill
/// at a fixed time rarely falls into this gap, but a kill triggered by the verdict often does.
final class VerdictTrigger: Sendable {
    private let isArmed = Atomic(false)
    private let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Arranges for the action to run once, on the thread that the verdict arrives on.
    func arm(_ action: @escaping @Sendable () -> Void) {
        self.action.withLock { $0 = action }
        self.isArmed.store(true, ordering: .releasing)
    }

    func disarm() {
        self.isArmed.store(false, ordering: .releasing)
        self.action.withLock { $0 = nil }
    }

    /// Called with every verdict on a wrong PIN.
    ///
    /// Costs only one atomic load while disarmed.
    func fire() {
        guard self.isArmed.load(ordering: .relaxed) else { return }
        let action = self.action.withLock { action in
            defer { action = nil }
            return action
        }
        self.isArmed.store(false, ordering: .releasing)
        action?()
    }
}
