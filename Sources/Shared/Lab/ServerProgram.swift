public import Foundation

/// A real `remote-pin-server` in a process of its own, for whoever starts, kills and restarts one: scenarios, load runs
/// and tests.
public final class ServerProgram: Sendable {
    private let process: Process
    /// Its standard input's other side: ends with this process, however that ends, so that a server that follows it
    /// (`--follow-input`) is left behind by nobody.
    private let input: Pipe
    private let log: ProgramOutput
    private let exit: ProcessExit

    /// The server ended before it was ready, or could not be started; what it wrote says why.
    public struct NotReady: Error, CustomStringConvertible {
        public let output: String
        public var description: String { "the server did not become ready:\n\(self.output)" }

        public init(output: String) {
            self.output = output
        }
    }

    /// The file's name, by which it is looked for.
    public static let name = "remote-pin-server"

    /// What the server writes once it takes connections.
    public static let readyWord = "ready on "

    /// The program beside the one that runs; nil where none is there.
    public static var besideThisProgram: String? {
        guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else { return nil }
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent(self.name).path
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// Starts the program and returns once it says that it is ready.
    ///
    /// - Parameters:
    ///   - word: what another program says when it is as far as its caller wants it.
    ///   - environment: added to this process's own.
    public static func start(
        _ binary: String,
        _ arguments: [String],
        until word: String = ServerProgram.readyWord,
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
        guard await log.waits(for: word) else {
            _ = await exit.status()
            throw NotReady(output: log.text)
        }
        return program
    }

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

    public var processID: Int32 { self.process.processIdentifier }

    /// What it wrote until now.
    public var output: String { self.log.text }

    /// Sends it a signal, unless it has ended, and does not wait for what follows.
    public func send(_ signal: Int32) {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, signal) }
    }

    /// Returns true once it wrote `word`, false when it ended without.
    public func writes(_ word: String) async -> Bool { await self.log.waits(for: word) }

    /// Returns its exit status once it has ended, whoever ended it; asked once.
    @discardableResult
    public func ended() async -> Int32 {
        await self.log.isClosed()
        self.closeInput()
        return await self.exit.status()
    }

    /// Foundation would keep it open: see ``ProgramOutput``.
    private func closeInput() { try? self.input.fileHandleForWriting.close() }

    /// Ends it at once, wherever it is, and waits until the kernel has let go of it.
    public func kill() async {
        self.send(SIGKILL)
        await self.ended()
    }

    /// Asks it to stop, and returns its exit status.
    @discardableResult
    public func terminate() async -> Int32 {
        self.send(SIGTERM)
        return await self.ended()
    }
}

/// How a process ended.
///
/// `waitUntilExit()` turns the run loop of whichever thread calls it, which a task may not rely on.
public final class ProcessExit: Sendable {
    private let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)

    /// - Precondition: The process is not running yet.
    public init(of process: Process) {
        process.terminationHandler = { [ended] process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
    }

    /// Waits for the end; asked once.
    public func status() async -> Int32 {
        for await status in self.statuses { return status }
        return -1
    }
}
