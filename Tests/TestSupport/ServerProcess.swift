import Foundation
package import Lab

/// Where the programs of this package were built, beside the tests that run.
package enum Programs {
    /// The path of a program of this package.
    package static func path(_ name: String) -> String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
    }
}

/// What one run of a program left behind.
package struct ProgramRun: Sendable {
    package let exitCode: Int32
    /// Standard output and standard error, as they came.
    package let output: String
}

/// The real server program in a process of its own, as it was built beside the tests.
package final class ServerProcess: Sendable {
    package typealias NotReady = ServerProgram.NotReady

    private let program: ServerProgram

    /// This process's own, without the search for leaks at the end of a program built with the address sanitizer.
    ///
    /// A program may end while an event loop still takes a channel apart, and is not to blame for it. The tests'
    /// own process is searched.
    private static let environment = ["ASAN_OPTIONS": "detect_leaks=0"]

    /// Starts `remote-pin-server` with these arguments and returns once it says that it is ready.
    ///
    /// Throws ``NotReady`` when it ends instead. `environment` is added to this process's own.
    ///
    /// - Parameters:
    ///   - program: another one of this package.
    ///   - word: what that one says when it is as far as the test wants it.
    package static func start(
        _ arguments: [String],
        of program: String = ServerProgram.name,
        until word: String = ServerProgram.readyWord,
        environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        ServerProcess(
            try await ServerProgram.start(
                Programs.path(program),
                arguments,
                until: word,
                environment: self.environment.merging(environment) { $1 }
            )
        )
    }

    private init(_ program: ServerProgram) {
        self.program = program
    }

    package var processID: Int32 { self.program.processID }

    /// What it wrote until now.
    package var output: String { self.program.output }

    /// Sends it a signal and does not wait for what follows.
    package func send(_ signal: Int32) { self.program.send(signal) }

    /// Returns true once it wrote `word`, false when it ended without.
    package func writes(_ word: String) async -> Bool { await self.program.writes(word) }

    /// Returns its exit status once it has ended, whoever ended it.
    package func ended() async -> Int32 { await self.program.ended() }

    /// Ends it at once, wherever it is, and waits until the kernel has let go of it.
    package func kill() async { await self.program.kill() }

    /// Asks it to stop, and returns its exit status.
    @discardableResult
    package func terminate() async -> Int32 { await self.program.terminate() }

    /// Runs a program to its end: one of this package, or any other by its path.
    package static func run(_ program: String, _ arguments: [String]) async throws -> ProgramRun {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program.hasPrefix("/") ? program : Programs.path(program))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(self.environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let log = ProgramOutput(of: process)
        let exit = ProcessExit(of: process)
        try process.run()
        await log.isClosed()
        return ProgramRun(exitCode: await exit.status(), output: log.text)
    }
}
