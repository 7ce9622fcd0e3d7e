internal import Glibc
internal import HostSystem
internal import Lab
internal import LabFiles
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// A lab of one scenario's own with its real server, which the scenario may stop, kill and start again.
final class LabServer: Sendable {
    let lab: LabFolder
    private let binary: String
    private let environment: [String: String]
    private let socket: String
    private let state = Mutex(State())

    private struct State {
        var program: ServerProgram?
        /// What earlier processes wrote.
        var log = ""
        var isOver = false
    }

    /// Time for an operator's command, the largest of which ends many sessions.
    private static let patience: Duration = .seconds(60)

    /// - Parameters:
    ///   - folder: A folder that does not exist yet.
    ///   - settings: Those that differ from a lab's, by the names of docs/settings.md.
    ///   - logFile: Where all its processes log whatever they can; nil where their output is kept here.
    init(folder: String, binary: String, settings: [String: String], logFile: String? = nil) {
        self.lab = LabFolder("\(folder)/lab")
        self.binary = binary
        self.socket = "\(folder)/admin.sock"
        var environment = [
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "info", "REMOTE_PIN_ADMIN_SOCKET": self.socket,
            // A program built with the address sanitizer may end while an event loop still takes a channel apart.
            "ASAN_OPTIONS": "detect_leaks=0",
        ]
        if let logFile {
            environment["REMOTE_PIN_LOG_FILE"] = logFile
            environment["REMOTE_PIN_LOG_LEVEL"] = "debug"
            environment["REMOTE_PIN_LOG_FORMAT"] = "json"
        }
        for (name, value) in settings { environment[Self.variable(name)] = value }
        self.environment = environment
    }

    /// `pin.attempts-per-round` as the environment names it.
    static func variable(_ setting: String) -> String {
        "REMOTE_PIN_" + setting.uppercased().map { $0 == "." || $0 == "-" ? "_" : "\($0)" }.joined()
    }

    var isRunning: Bool { self.state.withLock { $0.program != nil } }

    /// Everything that its processes wrote.
    var log: String { self.state.withLock { $0.log + ($0.program?.output ?? "") } }

    /// Starts it; makes the lab where there is none yet.
    func start() async throws(StepProblem) {
        guard !self.isRunning else { throw .failed("the server is running already") }
        let program: ServerProgram
        do throws(ServerProgram.NotReady) {
            program = try await ServerProgram.start(
                self.binary,
                ["lab", "up", self.lab.path, "--follow-input"],
                environment: self.environment
            )
        } catch {
            throw .failed("the server did not become ready:\n\(error.output)")
        }
        let isWanted = self.state.withLock { state in
            if !state.isOver { state.program = program }
            return !state.isOver
        }
        guard !isWanted else { return }
        await program.kill()
    }

    /// Ends it in an orderly way.
    func stop() async throws(StepProblem) {
        guard let program = self.take() else { throw .failed("the server is not running") }
        await program.terminate()
        self.keepLog(of: program)
    }

    /// Ends it at once, wherever it is.
    func kill() async throws(StepProblem) {
        guard let program = self.take() else { throw .failed("the server is not running") }
        await program.kill()
        self.keepLog(of: program)
    }

    /// For good, from any thread: the run was cancelled or is over.
    func endForGood() {
        let program = self.state.withLock { state in
            state.isOver = true
            return state.program
        }
        program?.send(SIGKILL)
    }

    /// The same, and waits until nothing of it is left.
    func ended() async {
        self.endForGood()
        _ = await self.take()?.ended()
    }

    /// Gives the server a command of its operator.
    func operate(_ command: AdminCommand) async throws(StepProblem) -> AdminResult {
        do {
            let connection = try await AdminConnection.connect(path: self.socket, timeout: Self.patience)
            defer { connection.close() }
            return try await connection.call(command, timeout: Self.patience)
        } catch {
            throw .failed("the server does not take an operator's commands: \(error)")
        }
    }

    /// Moves the lab's clock, also while no server runs.
    func advance(by duration: Duration) async throws(StepProblem) {
        guard self.isRunning else {
            do throws(LabError) {
                _ = try LabClock(file: self.lab.clockFile).advance(by: duration)
            } catch {
                throw .failed("the lab's clock was not moved: \(error)")
            }
            return
        }
        let result = try await self.operate(.advanceClock(by: duration))
        if case .failed(let failure) = result { throw .failed(failure.sentence) }
    }

    private func take() -> ServerProgram? {
        self.state.withLock { state in
            defer { state.program = nil }
            return state.program
        }
    }

    private func keepLog(of program: ServerProgram) {
        self.state.withLock { $0.log += program.output }
    }
}

/// Why a step of a scenario was not done, or not as expected.
enum StepProblem: Error {
    /// The scenario fails here.
    case failed(String, [ScenarioResult.Difference] = [])
    /// It cannot be done against this server; what follows would not mean anything.
    case impossible(String)
    /// It cannot be looked at here; what follows can go on.
    case unseen(String)
}
