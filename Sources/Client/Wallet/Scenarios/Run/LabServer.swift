internal import AdminProtocol
internal import ConfigText
internal import Glibc
internal import HostSystem
internal import Lab
internal import LabFiles
internal import Synchronization
internal import Transport
internal import Vocabulary

/// A scenario's lab and its real server process, which the scenario can stop, kill and restart.
final class LabServer: Sendable {
    let lab: LabFolder
    private let binary: String
    private let socket: String
    private let logFile: String?
    /// Whether the server was started by another program.
    private let isExisting: Bool
    private let state: Mutex<State>

    private struct State {
        var program: ServerProgram?
        /// The output of earlier processes.
        var log = ""
        /// The environment, including settings changed by a restart.
        var environment: [String: String]
        /// Nil unless the server is frozen.
        var frozen: Frozen?
        var isOver = false
    }

    /// The events that have occurred since the server was frozen.
    ///
    /// They are delivered later.
    private struct Frozen {
        var calls: [@Sendable () async -> Void] = []
        var time: Duration = .zero
    }

    private static let labName = "lab"
    private static let socketName = "admin.sock"
    /// The names that the lab uses in a run's folder, beside the phones.
    static let names = [labName, socketName]
    /// The reason why a phone cannot have such a name.
    static func refusal(of name: String) -> String {
        "the lab uses the name \(name); choose another one for the phone"
    }

    /// The timeout for admin commands.
    ///
    /// The slowest one ends many sessions.
    private static let timeout: Duration = .seconds(60)

    /// Creates a lab that has not been started yet.
    ///
    /// - Parameters:
    ///   - folder: A folder that does not exist yet.
    ///   - settings: The settings that differ from the lab defaults, keyed by their names in docs/settings.md.
    ///   - logFile: The log file for all server processes, at level debug. If nil, their output is kept in memory.
    init(folder: String, binary: String, settings: [String: String], logFile: String? = nil) {
        self.lab = LabFolder("\(folder)/\(Self.labName)")
        self.binary = binary
        self.socket = "\(folder)/\(Self.socketName)"
        var environment = [
            "REMOTE_PIN_LOG_FILE": "none", "REMOTE_PIN_LOG_LEVEL": "info", "REMOTE_PIN_ADMIN_SOCKET": self.socket,
            // A program built with the address sanitizer may exit while an event loop is still closing a channel.
            "ASAN_OPTIONS": "detect_leaks=0",
        ]
        if let logFile {
            environment["REMOTE_PIN_LOG_FILE"] = logFile
            environment["REMOTE_PIN_LOG_LEVEL"] = "debug"
            environment["REMOTE_PIN_LOG_FORMAT"] = "json"
        }
        for (name, value) in settings { environment[Self.variable(name)] = value }
        self.state = Mutex(State(environment: environment))
        self.logFile = logFile
        self.isExisting = false
    }

    /// Uses a lab whose server is already running, and which this object neither starts nor stops.
    init(existing lab: LabFolder) throws(LabError) {
        self.lab = lab
        self.binary = ""
        self.socket = try lab.adminSocket()
        self.state = Mutex(State(environment: [:]))
        self.logFile = lab.logFile
        self.isExisting = true
    }

    /// Returns the environment variable for a setting such as `pin.attempts-per-round`.
    static func variable(_ setting: String) -> String {
        "REMOTE_PIN_" + setting.uppercased().map { $0 == "." || $0 == "-" ? "_" : "\($0)" }.joined()
    }

    var isRunning: Bool { self.isExisting || self.state.withLock { $0.program != nil } }

    /// The output of all server processes, or the contents of the log file if there is one.
    var log: String {
        if let logFile, let text = try? DurableFile.readText(logFile, atMost: 1 << 28) { return text }
        return self.state.withLock { $0.log + ($0.program?.output ?? "") }
    }

    /// Starts the server.
    ///
    /// Creates the lab first if it does not exist.
    ///
    /// - Parameter settings: Settings to change from now on, keyed by their names in docs/settings.md.
    func start(changing settings: [String: String] = [:]) async throws(StepProblem) {
        guard !self.isRunning else { throw .failed("the server is running already") }
        let environment = self.state.withLock { state in
            for (name, value) in settings { state.environment[Self.variable(name)] = value }
            return state.environment
        }
        let arguments = ["lab", "up", self.lab.path, "--follow-input"]
        let program = try await mapError(
            of: await ServerProgram.start(self.binary, arguments, environment: environment)
        ) { (error: ServerProgram.NotReady) in
            StepProblem.failed("the server did not become ready:\n\(error.output)")
        }
        let isWanted = self.state.withLock { state in
            if !state.isOver { state.program = program }
            return !state.isOver
        }
        guard !isWanted else { return }
        await program.kill()
    }

    /// Starts another server on the same store.
    ///
    /// - Throws: A problem unless it refuses to start because the store is in use.
    func startSecond() async throws(StepProblem) {
        guard self.isRunning else { throw .failed("the server is not running") }
        var environment = self.state.withLock(\.environment)
        environment["REMOTE_PIN_ADMIN_SOCKET"] = "\(self.socket)-2"
        environment["REMOTE_PIN_LISTEN_ADDRESS"] = "127.0.0.1:0"
        let second: ServerProgram
        do throws(ServerProgram.NotReady) {
            let arguments = ["serve", self.lab.path, "--follow-input"]
            second = try await ServerProgram.start(self.binary, arguments, environment: environment)
        } catch {
            guard error.output.contains("is in use by process") else {
                throw .failed("the second server did not start, for another reason than the store:\n\(error.output)")
            }
            return
        }
        await second.kill()
        throw .failed("a second server uses the store of the first one")
    }

    /// Shuts the server down.
    func stop() async throws(StepProblem) {
        try self.checkAnswers()
        guard let program = self.take() else { throw .failed("the server is not running") }
        await program.terminate()
        self.keepLog(of: program)
    }

    func kill() async throws(StepProblem) {
        guard let program = self.take() else { throw .failed("the server is not running") }
        await program.kill()
        self.keepLog(of: program)
    }

    /// Kills the server and prevents it from being started again; called at the end of the run, from any thread.
    func shutDown() {
        let program = self.state.withLock { state in
            state.isOver = true
            return state.program
        }
        program?.send(SIGKILL)
    }

    /// Like ``shutDown()``, but also waits for the process to exit.
    func ended() async {
        self.shutDown()
        guard let program = self.take() else { return }
        _ = await program.ended()
        self.keepLog(of: program)
    }

    /// Sends an admin command and returns the reply, or nil if the wallet is unknown.
    func lookUp<Reply: Decodable & Sendable>(
        _ command: String,
        _ arguments: some Encodable & Sendable = NoArguments()
    ) async throws(StepProblem) -> Reply? {
        try self.checkAnswers()
        do {
            let connection = try await AdminConnection.connect(path: self.socket, timeout: Self.timeout)
            defer { connection.close() }
            return try await connection.call(command, arguments, timeout: Self.timeout)
        } catch AdminCallError.refused(let failure) {
            if failure.kind == .unknownWallet { return nil }
            throw .failed("the server rejected `\(command)`: \(failure.message)")
        } catch {
            throw .failed("the server does not accept admin commands: \(error)")
        }
    }

    func operate(_ command: String, _ arguments: some Encodable & Sendable = NoArguments()) async throws(StepProblem) {
        let done: NoArguments? = try await self.lookUp(command, arguments)
        if done == nil { throw .failed("the server does not know the wallet of `\(command)`") }
    }

    /// Advances the lab's clock, even if the server is not running.
    func advance(by duration: Duration) async throws(StepProblem) {
        let isFrozen = self.state.withLock { state in
            state.frozen?.time += duration
            return state.frozen != nil
        }
        guard isFrozen || !self.isRunning else {
            return try await self.operate("clock advance", ["byMs": duration.milliseconds])
        }
        try mapError(LabClock(file: self.lab.clockFile).advance(by: duration)) { (error: LabError) in
            StepProblem.failed("the lab's clock cannot be advanced: \(error)")
        }
    }

    /// Queues a call if the process is suspended; otherwise returns false.
    func hold(_ call: @escaping @Sendable () async -> Void) -> Bool {
        self.state.withLock { state in
            state.frozen?.calls.append(call)
            return state.frozen != nil
        }
    }

    private func take() -> ServerProgram? {
        self.state.withLock { state in
            defer { (state.program, state.frozen) = (nil, nil) }
            return state.program
        }
    }

    private func keepLog(of program: ServerProgram) {
        self.state.withLock { $0.log += program.output }
    }
}

/// The reason why a step failed or was skipped.
enum StepProblem: Error {
    case failed(String, [ScenarioResult.Difference] = [])
    /// The step is not supported by this server, so running the steps after it would be meaningless.
    case unsupported(String)
    /// The expectation cannot be checked against this server, but the steps after it can run.
    case unobservable(String)

    static func outOfTime(_ scenario: Scenario) -> StepProblem {
        let limit = DurationText.write(scenario.timeLimit)
        return .failed("the scenario's time limit of \(limit) has expired; the key `time limit` changes it")
    }
}

/// Methods that freeze the server and replace its certificate.
extension LabServer {
    /// Suspends the process.
    ///
    /// The kernel still accepts connections on its behalf, but no call is answered.
    func freeze() throws(StepProblem) {
        try self.checkAnswers()
        let isRunning = self.state.withLock { state in
            guard let program = state.program else { return false }
            program.send(SIGSTOP)
            state.frozen = Frozen()
            return true
        }
        guard isRunning else { throw .failed("the server is not running") }
    }

    /// Resumes the process.
    ///
    /// It then catches up with the clock and executes the calls it received in the meantime.
    func thaw() async throws(StepProblem) {
        let frozen = self.state.withLock { state in
            if state.frozen != nil { state.program?.send(SIGCONT) }
            return state.frozen.take()
        }
        guard let frozen else { throw .failed("the server is not frozen") }
        if frozen.time > .zero { try await self.operate("clock advance", ["byMs": frozen.time.milliseconds]) }
        for call in frozen.calls { await call() }
    }

    /// Throws if the server is frozen, since it would never answer a command.
    func checkAnswers() throws(StepProblem) {
        guard self.state.withLock({ $0.frozen != nil }) else { return }
        throw .failed("the server is frozen; `thaw server` continues it")
    }

    /// Replaces the certificate and its key.
    ///
    /// A running server loads them for new connections.
    func exchange(_ certificate: ExchangedCertificate) async throws(StepProblem) {
        let (chain, key): (String, String)
        do {
            let authority =
                switch certificate {
                case .renewed, .otherName: try LabAuthority.load(from: self.lab.authorityFolder)
                case .otherAuthority: LabAuthority()
                }
            let names =
                switch certificate {
                case .renewed, .otherAuthority: LabAuthority.serverNames
                case .otherName: ["other.example"]
                }
            (chain, key) = authority.issueTLSServerCertificate(names: names)
            try DurableFile.write(Array(chain.utf8), to: self.lab.certificateFile)
            try DurableFile.write(Array(key.utf8), to: self.lab.certificateKeyFile)
        } catch {
            throw .failed("the certificate cannot be exchanged: \(error)")
        }
        guard self.isRunning, let reply: Reloading = try await self.lookUp("reload") else { return }
        let reasons = reply.parts.compactMap(\.reason)
        guard reasons.isEmpty else {
            throw .failed("the server did not load the certificate: \(reasons.joined(separator: ", "))")
        }
    }
}

/// The failures in the server's reply to `reload`.
private struct Reloading: Decodable {
    let parts: [Part]

    struct Part: Decodable {
        let reason: String?
    }
}
