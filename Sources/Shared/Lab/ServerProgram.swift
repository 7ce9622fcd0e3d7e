package import Foundation

/// A real `remote-pin-server` in a process of its own, for whoever starts, kills and restarts one: scenarios, load runs
/// and tests.
package final class ServerProgram: Sendable {
    private let process: Process
    /// Its standard input's other side: ends with this process, however that ends, so that a server that follows it
    /// (`--follow-input`) is left behind by nobody.
    private let input: Pipe
    private let log: ProgramOutput
    private let exit: ProcessExit

    /// The server ended before it was ready, could not be started, or was ended because it took too long; what it wrote
    /// says why.
    package struct NotReady: Error, CustomStringConvertible {
        package let output: String
        /// How long it was waited for, where it neither became ready nor ended.
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

    /// The file's name, by which it is looked for.
    package static let name = "remote-pin-server"

    /// What the server writes once it takes connections.
    package static let readyWord = "ready on "

    /// The program beside the one that runs; nil where none is there.
    package static var besideThisProgram: String? {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(self.name).path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// Starts the program and returns once it says that it is ready; one that is not, when the task is cancelled or its
    /// time is over, is killed.
    ///
    /// - Parameters:
    ///   - word: what another program says when it is as far as its caller wants it.
    ///   - patience: how long it may take; for ever where it is nil.
    ///   - environment: added to this process's own.
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
        // Another child that held it would keep the server from seeing its end.
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

    /// How long the kernel may take to let go of a program that never became ready.
    private static let killingTime: Duration = .seconds(5)

    private init(process: Process, input: Pipe, log: ProgramOutput, exit: ProcessExit) {
        self.process = process
        self.input = input
        self.log = log
        self.exit = exit
    }

    /// Whoever forgets it leaves no process behind.
    deinit {
        self.send(SIGKILL)
        self.closeInput()
    }

    package var processID: Int32 { self.process.processIdentifier }

    /// What it wrote until now.
    package var output: String { self.log.text }

    /// Sends it a signal, unless it has ended, and does not wait for what follows.
    package func send(_ signal: Int32) {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, signal) }
    }

    /// Returns true once it wrote `word`, false when it ended without.
    package func writes(_ word: String) async -> Bool { await self.log.waits(for: word) }

    /// Returns its exit status once it has ended, whoever ended it, also in a task that is cancelled; asked once.
    @discardableResult
    package func ended() async -> Int32 { await Task { await self.endOrCancellation() }.value }

    private func endOrCancellation() async -> Int32 {
        await self.log.isClosed()
        self.closeInput()
        return await self.exit.status()
    }

    /// Foundation would keep it open: see ``ProgramOutput``.
    private func closeInput() { try? self.input.fileHandleForWriting.close() }

    /// Ends it at once, wherever it is, and waits until the kernel has let go of it.
    package func kill() async {
        self.send(SIGKILL)
        await self.ended()
    }

    /// The same for one that may have started others, which hold its output and live on: they are not waited for.
    ///
    /// - Returns: Whether all of it has ended in that time.
    @discardableResult
    package func kill(within limit: Duration) async -> Bool {
        self.send(SIGKILL)
        return await self.ended(within: limit)
    }

    /// Asks it to stop, and kills it where it has not after that time.
    package func terminate(within limit: Duration) async {
        self.send(SIGTERM)
        if await !self.ended(within: limit) { self.send(SIGKILL) }
    }

    private func ended(within limit: Duration) async -> Bool {
        await finished(within: limit) { await self.endOrCancellation() } != nil
    }

    /// Asks it to stop, and returns its exit status.
    @discardableResult
    package func terminate() async -> Int32 {
        self.send(SIGTERM)
        return await self.ended()
    }
}

/// How a process ended.
///
/// `waitUntilExit()` turns the run loop of whichever thread calls it, which a task may not rely on.
package final class ProcessExit: Sendable {
    private let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)

    /// - Precondition: The process is not running yet.
    package init(of process: Process) {
        process.terminationHandler = { [ended] process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
    }

    /// Waits for the end; asked once.
    package func status() async -> Int32 {
        for await status in self.statuses { return status }
        return -1
    }
}
