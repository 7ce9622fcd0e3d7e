package import Foundation

/// A real `remote-pin-server` in a separate process, for code that starts, kills and restarts one: scenarios, load
/// runs and tests.
package final class ServerProgram: Sendable {
    private let process: Process
    /// The write end of the server's standard input.
    ///
    /// It is closed when this process exits for whatever reason, so a server running with `--follow-input` never
    /// outlives it.
    private let input: Pipe
    private let log: ProgramOutput
    private let exit: ProcessExit

    /// The server could not be started, ended before it was ready, or was killed after its timeout; the output
    /// gives the reason.
    package struct NotReady: Error, CustomStringConvertible {
        package let output: String
        /// The timeout, if the server neither became ready nor ended within it.
        package let patience: Duration?

        package var description: String {
            guard let patience else { return "the server did not become ready:\n\(self.output)" }
            return "the server was not ready after \(patience) and was killed; it wrote:\n\(self.output)"
        }

        package init(output: String, patience: Duration? = nil) {
            self.output = output
            self.patience = patience
        }
    }

    /// The file name of the program.
    package static let name = "remote-pin-server"

    /// The text that the server writes when it accepts connections.
    package static let readyWord = "ready on "

    /// The program in the folder of the running program; nil if it does not exist.
    package static var besideThisProgram: String? {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(self.name).path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// Starts the program and returns when it reports that it is ready; kills it after the timeout or if the task is
    /// cancelled.
    ///
    /// - Parameters:
    ///   - word: The text that reports readiness; a program other than the server has its own.
    ///   - patience: The timeout; nil waits without limit.
    ///   - environment: Variables to add to this process's environment.
    package static func start(
        _ binary: String,
        _ arguments: [String],
        until word: String = ServerProgram.readyWord,
        within patience: Duration? = nil,
        environment: [String: String] = [:]
    ) async throws(NotReady) -> ServerProgram {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let input = Pipe()
        // If another child inherited the descriptor, the server would not notice when this process exits.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        process.standardInput = input
        let log = ProgramOutput(of: process)
        let exit = ProcessExit(of: process)
        do {
            try process.run()
        } catch {
            try? input.fileHandleForWriting.close()
            throw NotReady(output: "\(binary) cannot be started: \(error)")
        }
        let program = ServerProgram(process: process, input: input, log: log, exit: exit)
        switch await finished(within: patience, { await log.waits(for: word) }) {
        case true?: return program
        case false?:
            _ = await exit.status()
            throw NotReady(output: log.text)
        case nil:
            await program.kill(within: self.killingTime)
            throw NotReady(output: log.text, patience: Task.isCancelled ? nil : patience)
        }
    }

    /// The time limit for the kernel to end a killed program that never became ready.
    private static let killingTime: Duration = .seconds(5)

    private init(process: Process, input: Pipe, log: ProgramOutput, exit: ProcessExit) {
        self.process = process
        self.input = input
        self.log = log
        self.exit = exit
    }

    /// Ends the server, so that dropping the value leaves no process behind.
    deinit {
        self.send(SIGKILL)
        self.closeInput()
    }

    package var processID: Int32 { self.process.processIdentifier }

    /// The output so far.
    package var output: String { self.log.text }

    /// Sends a signal, unless the server has ended, and does not wait for the effect.
    package func send(_ signal: Int32) {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, signal) }
    }

    /// Returns true when the server has written `word`, false if it ends without it.
    package func writes(_ word: String) async -> Bool { await self.log.waits(for: word) }

    /// Returns the exit status after the server's end, also in a cancelled task; may be called once.
    @discardableResult
    package func ended() async -> Int32 { await Task { await self.endOrCancellation() }.value }

    private func endOrCancellation() async -> Int32 {
        await self.log.isClosed()
        self.closeInput()
        return await self.exit.status()
    }

    /// Closes the pipe, because Foundation would keep it open; see ``ProgramOutput``.
    private func closeInput() { try? self.input.fileHandleForWriting.close() }

    /// Kills the server and waits until the process has ended.
    package func kill() async {
        self.send(SIGKILL)
        await self.ended()
    }

    /// Kills a program whose children may hold its output and live on; does not wait for the children.
    ///
    /// - Returns: True if the program and its output ended within the limit.
    @discardableResult
    package func kill(within limit: Duration) async -> Bool {
        self.send(SIGKILL)
        return await self.ended(within: limit)
    }

    /// Sends SIGTERM, and kills the server if it has not ended within the limit.
    package func terminate(within limit: Duration) async {
        self.send(SIGTERM)
        if await !self.ended(within: limit) { self.send(SIGKILL) }
    }

    private func ended(within limit: Duration) async -> Bool {
        await finished(within: limit) { await self.endOrCancellation() } != nil
    }

    /// Sends SIGTERM and returns the exit status.
    @discardableResult
    package func terminate() async -> Int32 {
        self.send(SIGTERM)
        return await self.ended()
    }
}

/// The end of a process and its status.
///
/// We cannot use `waitUntilExit()`, because it runs the run loop of the calling thread, which a task must not do.
package final class ProcessExit: Sendable {
    private let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)

    /// - Precondition: The process is not running yet.
    package init(of process: Process) {
        process.terminationHandler = { [ended] process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
    }

    /// Waits for the end; may be called once.
    package func status() async -> Int32 {
        for await status in self.statuses { return status }
        return -1
    }
}
