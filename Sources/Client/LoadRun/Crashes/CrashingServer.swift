internal import Glibc
public import Lab
public import LoadReport
internal import Synchronization
internal import Vocabulary

/// A lab's server that a run starts itself, kills again and again at once, and starts anew while the load goes on.
///
/// It is killed wherever it is: in a commit, before a reply, with guesses on their way. What wallets' histories allow
/// afterwards decides whether a crash gave guesses away or took a right PIN's.
public final class CrashingServer: Sendable {
    /// Why there is no server to kill; the person does what the sentence says.
    public enum Problem: Error, Sendable, CustomStringConvertible {
        /// No program stands beside this one.
        case noProgram
        /// Somebody else's process serves the lab.
        case alreadyServed(pid: Int32)
        case notReady(ServerProgram.NotReady)
        case lab(LabError)

        public var description: String {
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

    private struct State {
        var program: ServerProgram
        var crashes: [Crash] = []
        var failure: String?
    }

    private let lab: LabFolder
    private let binary: String
    private let state: Mutex<State>

    private init(_ lab: LabFolder, _ binary: String, _ program: ServerProgram) {
        self.lab = lab
        self.binary = binary
        self.state = Mutex(State(program: program))
    }

    /// Serves a lab that nobody serves.
    ///
    /// - Parameter program: the server's; the one beside this program where it is nil.
    public static func start(_ lab: LabFolder, program: String? = nil) async throws(Problem) -> CrashingServer {
        guard let binary = program ?? ServerProgram.besideThisProgram else { throw .noProgram }
        let file: LabFile
        do throws(LabError) { file = try LabFile(of: lab) } catch { throw .lab(error) }
        if file.port > 0, let pid = ListeningProcess.pid(onPort: file.port) { throw .alreadyServed(pid: pid) }
        do throws(ServerProgram.NotReady) {
            return CrashingServer(lab, binary, try await Self.serve(lab, binary))
        } catch {
            throw .notReady(error)
        }
    }

    private static func serve(
        _ lab: LabFolder,
        _ binary: String
    ) async throws(ServerProgram.NotReady) -> ServerProgram {
        try await ServerProgram.start(binary, ["serve", lab.path, "--follow-input"])
    }

    public var processID: Int32 { self.state.withLock(\.program).processID }

    /// Kills it each time so much of the run has passed, until the task is cancelled; a companion of a run.
    ///
    /// Every other time not before a wrong PIN's verdict arrives, and the moment it does.
    public func crash(every interval: Duration, telling events: RunEvents) async {
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
    private static let patience: Duration = .milliseconds(500)

    /// Kills the program with the next wrong PIN's verdict; false where none came in time.
    private func lieInWait(for program: ServerProgram, telling events: RunEvents) async -> Bool {
        let (verdicts, verdict) = AsyncStream<Bool>.makeStream()
        events.ambush.set {
            program.send(SIGKILL)
            verdict.yield(true)
        }
        let timer = Task {
            try? await Task.sleep(for: Self.patience)
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
        let (at, killed) = (events.now ?? .zero, ContinuousClock.now)
        await program.kill()
        let died = ContinuousClock.now
        events.serverEnded()
        events.mark("server killed")
        do throws(ServerProgram.NotReady) {
            let next = try await Self.serve(self.lab, self.binary)
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
            self.state.withLock { $0.failure = error.description }
            events.note("the server did not come back: \(error.output)")
            events.end(.lost)
            return false
        }
    }

    /// Ends it in an orderly way.
    public func stop() async { await self.state.withLock(\.program).terminate() }

    /// What a report says of the crashes.
    public var section: ReportSection {
        let (crashes, failure) = self.state.withLock { ($0.crashes, $0.failure) }
        let times = crashes.map(\.starting).sorted()
        var summary = "killed \(crashes.count + (failure == nil ? 0 : 1)) times with SIGKILL"
        if let last = times.last {
            summary +=
                "; ready again after \(Self.text(times[times.count / 2])) at the median, \(Self.text(last)) at most"
        }
        if failure != nil { summary += "; it did not come back from the last" }
        return ReportSection(
            title: "Crashes",
            summary: summary,
            columns: ["crash", "at", "killed", "gone after", "ready after"],
            rows: crashes.enumerated().map { number, crash in
                [
                    "\(number + 1)", Self.seconds(crash.at), crash.isAtVerdict ? "at a verdict" : "by the clock",
                    Self.text(crash.dying), Self.text(crash.starting),
                ]
            },
            verdict: failure == nil ? .neutral : .failed
        )
    }

    private static func text(_ duration: Duration) -> String { "\(duration.milliseconds) ms" }

    private static func seconds(_ duration: Duration) -> String {
        "\(duration.components.seconds).\(duration.milliseconds % 1000 / 100) s"
    }
}
