import Foundation
import Lab

/// Where the programs of this package were built, beside the tests that run.
public enum Programs {
    /// The path of a program of this package.
    public static func path(_ name: String) -> String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
    }
}

/// What one run of a program left behind.
public struct ProgramRun: Sendable {
    public let exitCode: Int32
    /// Standard output and standard error, as they came.
    public let output: String
}

/// The real server program in a process of its own.
public final class ServerProcess: Sendable {
    private let process: Process
    private let log: ProgramOutput
    private let exit: ProcessExit

    /// This process's own, without the search for leaks at the end of a program built with the address sanitizer.
    ///
    /// A program may end while an event loop still takes a channel apart, and is not to blame for it. The tests'
    /// own process is searched.
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.merging(["ASAN_OPTIONS": "detect_leaks=0"]) { $1 }
    }

    /// Starts `remote-pin-server` with these arguments and returns once it says that it is ready.
    ///
    /// Throws ``NotReady`` when it ends instead. `environment` is added to this process's own.
    ///
    /// - Parameters:
    ///   - program: another one of this package.
    ///   - word: what that one says when it is as far as the test wants it.
    public static func start(
        _ arguments: [String],
        of program: String = "remote-pin-server",
        until word: String = "ready",
        environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Programs.path(program))
        process.arguments = arguments
        process.environment = self.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let log = ProgramOutput(of: process)
        let exit = ProcessExit(of: process)
        try process.run()
        guard await log.waits(for: word) else {
            _ = await exit.status()
            throw NotReady(output: log.text)
        }
        return ServerProcess(process: process, log: log, exit: exit)
    }

    private init(process: Process, log: ProgramOutput, exit: ProcessExit) {
        self.process = process
        self.log = log
        self.exit = exit
    }

    /// A test that failed before it stopped its server leaves none behind.
    deinit {
        if self.process.isRunning { self.send(SIGKILL) }
    }

    /// The program ended before it was ready.
    public struct NotReady: Error, CustomStringConvertible {
        public let output: String
        public var description: String { "the program did not become ready:\n\(self.output)" }
    }

    public var processID: Int32 { self.process.processIdentifier }

    /// What it wrote until now.
    public var output: String { self.log.text }

    /// Sends it a signal and does not wait for what follows.
    public func send(_ signal: Int32) { Foundation.kill(self.process.processIdentifier, signal) }

    /// Returns true once it wrote `word`, false when it ended without.
    public func writes(_ word: String) async -> Bool { await self.log.waits(for: word) }

    /// Returns its exit status once it has ended, whoever ended it.
    public func ended() async -> Int32 {
        await self.log.isClosed()
        return await self.exit.status()
    }

    /// Ends it at once, wherever it is, and waits until the kernel has let go of it.
    public func kill() async { await self.end(with: SIGKILL) }

    /// Asks it to stop, and returns its exit status.
    @discardableResult
    public func terminate() async -> Int32 { await self.end(with: SIGTERM) }

    @discardableResult
    private func end(with signal: Int32) async -> Int32 {
        self.send(signal)
        return await self.ended()
    }

    /// Runs a program to its end: one of this package, or any other by its path.
    public static func run(_ program: String, _ arguments: [String]) async throws -> ProgramRun {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program.hasPrefix("/") ? program : Programs.path(program))
        process.arguments = arguments
        process.environment = self.environment
        process.standardInput = FileHandle.nullDevice
        let log = ProgramOutput(of: process)
        let exit = ProcessExit(of: process)
        try process.run()
        await log.isClosed()
        return ProgramRun(exitCode: await exit.status(), output: log.text)
    }
}

/// How a process ended.
///
/// `waitUntilExit()` turns the run loop of whichever thread calls it, which a task may not rely on.
private final class ProcessExit: Sendable {
    private let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)

    /// - Precondition: The process is not running yet.
    init(of process: Process) {
        process.terminationHandler = { [ended] process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
    }

    /// Waits for the end; asked once.
    func status() async -> Int32 {
        for await status in self.statuses { return status }
        return -1
    }
}
