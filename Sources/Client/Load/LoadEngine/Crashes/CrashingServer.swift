internal import Glibc
package import Lab
package import LoadReport
internal import Synchronization
internal import Vocabulary

/// A lab's server that a run starts itself, kills again and again at once, and starts anew while the load goes on.
///
/// It is killed wherever it is: in a commit, before a reply, with guesses on their way. What wallets' histories allow
/// afterwards decides whether a crash gave guesses away or took a right PIN's.
package final class CrashingServer: Sendable {
    /// Why there is no server to kill; the person does what the sentence says.
    package enum Problem: Error, Sendable, CustomStringConvertible {
        /// No program stands beside this one.
        case noProgram
        /// Somebody else's process serves the lab.
        case alreadyServed(pid: Int32)
        case notReady(ServerProgram.NotReady)
        case lab(LabError)

        package var description: String {
            switch self {
            case .noProgram: "there is no \(ServerProgram.name) beside this program; name it with --server-program"
            case .alreadyServed(let pid):
                "the lab is being served by process \(pid); stop it first, because the run starts and kills the server itself"
            case .notReady(let error): error.description
            case .lab(let error): error.description
            }
        }
    }

    /// One end of the server and its return.
    struct Crash: Sendable {
        /// Since the run's start.
        let at: Duration
        /// Whether a wrong PIN's verdict had just arrived.
        let isAtVerdict: Bool
        /// From the signal until the process was gone.
        let dying: Duration
        /// From its start until it took connections.
        let starting: Duration
    }

    /// A crash that no return followed.
    enum UnfinishedCrash: Sendable {
        /// The server did not come back.
        case notBack
        /// The run was ended while it was coming back.
        case cutOff
    }

    private struct State {
        var program: ServerProgram
        var crashes: [Crash] = []
        var last: UnfinishedCrash?
    }

    /// How long a start, and each return after a crash, may take.
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

    /// Serves a lab that nobody serves.
    ///
    /// - Parameters:
    ///   - program: the server's; the one beside this program where it is nil.
    ///   - patience: how long each return after a crash may take.
    package static func start(
        _ lab: LabFolder,
        program: String? = nil,
        returningWithin patience: Duration = CrashingServer.patience
    ) async throws(Problem) -> CrashingServer {
        guard let binary = program ?? ServerProgram.besideThisProgram else { throw .noProgram }
        let file: LabFile
        do throws(LabError) { file = try LabFile(of: lab) } catch { throw .lab(error) }
        if file.port > 0, let pid = ListeningProcess.pid(onPort: file.port) { throw .alreadyServed(pid: pid) }
        do throws(ServerProgram.NotReady) {
            let program = try await Self.serve(lab, binary, within: Self.patience)
            return CrashingServer(lab, binary, program, patience: patience)
        } catch {
            throw .notReady(error)
        }
    }

    private static func serve(
        _ lab: LabFolder,
        _ binary: String,
        within patience: Duration
    ) async throws(ServerProgram.NotReady) -> ServerProgram {
        try await ServerProgram.start(binary, ["serve", lab.path, "--follow-input"], within: patience)
    }

    package var processID: Int32 { self.state.withLock(\.program).processID }

    /// Kills it each time so much of the run has passed, until the task is cancelled; a companion of a run.
    ///
    /// Every other time not before a wrong PIN's verdict arrives, and the moment it does.
    package func crash(every interval: Duration, telling events: RunEvents) async {
        var (next, number) = (interval, 0)
        while !Task.isCancelled, let now = events.now {
            try? await Task.sleep(for: max(.zero, next - now), tolerance: .zero)
            number += 1
            guard !Task.isCancelled, await self.crashOnce(atVerdict: number.isMultiple(of: 2), telling: events) else {
                return
            }
            next += interval
            // A server that takes longer to come back than the interval gets a whole one.
            if let now = events.now, next < now { next = now + interval }
        }
    }

    /// How long a verdict is waited for.
    private static let ambushTime: Duration = .milliseconds(500)

    /// Kills the program with the next wrong PIN's verdict; false where none came in time.
    private func lieInWait(for program: ServerProgram, telling events: RunEvents) async -> Bool {
        let (verdicts, verdict) = AsyncStream<Bool>.makeStream()
        events.ambush.set {
            program.send(SIGKILL)
            verdict.yield(true)
        }
        let timer = Task {
            try? await Task.sleep(for: Self.ambushTime)
            verdict.yield(false)
        }
        defer { timer.cancel() }
        for await hasCome in verdicts {
            events.ambush.lift()
            return hasCome
        }
        return false
    }

    /// False where it did not come back.
    private func crashOnce(atVerdict: Bool, telling events: RunEvents) async -> Bool {
        let program = self.state.withLock(\.program)
        let isAtVerdict = atVerdict ? await self.lieInWait(for: program, telling: events) : false
        // The end of the plan does not cut it off: a server that hangs then hangs nonetheless. Who ends the run earlier does.
        let crash = Task { await self.crash(program, isAtVerdict: isAtVerdict, telling: events) }
        let ending = Task {
            await events.ends()
            crash.cancel()
        }
        defer { ending.cancel() }
        return await crash.value
    }

    /// Kills the program and starts another, until the task is cancelled; false where that does not come back.
    private func crash(_ program: ServerProgram, isAtVerdict: Bool, telling events: RunEvents) async -> Bool {
        let (at, killed) = (events.now ?? .zero, ContinuousClock.now)
        let isGone = await program.kill(within: self.patience)
        let died = ContinuousClock.now
        guard isGone else {
            let sentence =
                "the server was killed and something of it lives on: a script that starts it has to `exec` it"
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

    /// The run ends without the server, unless it is being ended anyway.
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

    /// Ends it in an orderly way, or at once where it does not end.
    package func stop() async { await self.state.withLock(\.program).terminate(within: self.patience) }

    /// What a report says of the crashes.
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
