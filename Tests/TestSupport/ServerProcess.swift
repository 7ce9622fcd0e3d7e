import Foundation
package import Lab

/// The programs of this package, built next to the running tests.
package enum Programs {
    /// The path of a program of this package.
    package static func path(_ name: String) -> String {
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent(name).path
    }
}

/// The result of one run of a program.
package struct ProgramRun: Sendable {
    package let exitCode: Int32
    /// Standard output and standard error, in the order of arrival.
    package let output: String
}

/// A program did not end in time and was sent SIGTERM.
package struct DidNotEnd: Error {
    let output: String
}

/// The real server program in a separate process, as built next to the tests.
package final class ServerProcess: Sendable {
    package typealias NotReady = ServerProgram.NotReady

    private let program: ServerProgram

    /// The environment that turns off the leak search of a program built with the address sanitizer.
    ///
    /// A program may end while an event loop is still closing a channel, which is not a leak. The tests' own
    /// process is searched.
    private static let environment = ["ASAN_OPTIONS": "detect_leaks=0"]

    /// Starts `remote-pin-server` with these arguments and returns when it reports that it is ready.
    ///
    /// Throws ``NotReady`` if it ends instead. `environment` is added to this process's own.
    ///
    /// - Parameters:
    ///   - program: Another program of this package, or any other by its path.
    ///   - word: The text by which that program reports readiness.
    package static func start(
        _ arguments: [String],
        of program: String = ServerProgram.name,
        until word: String = ServerProgram.readyWord,
        environment: [String: String] = [:]
    ) async throws -> ServerProcess {
        ServerProcess(
            try await ServerProgram.start(
                program.hasPrefix("/") ? program : Programs.path(program),
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

    /// The output so far.
    package var output: String { self.program.output }

    /// Sends a signal and does not wait for the effect.
    package func send(_ signal: Int32) { self.program.send(signal) }

    /// Returns true when the server has written `word`, false if it ends without it.
    package func writes(_ word: String) async -> Bool { await self.program.writes(word) }

    /// Returns the exit status after the server's end, for any cause.
    package func ended() async -> Int32 { await self.program.ended() }

    /// Kills the server and waits until the process has ended.
    package func kill() async { await self.program.kill() }

    /// Sends SIGTERM and returns the exit status.
    @discardableResult
    package func terminate() async -> Int32 { await self.program.terminate() }

    /// Runs a program to its end: one of this package by name, or any other by its path.
    ///
    /// - Throws: ``DidNotEnd`` after five minutes, such as for a server that starts although it should refuse to.
    package static func run(_ program: String, _ arguments: [String]) async throws -> ProgramRun {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program.hasPrefix("/") ? program : Programs.path(program))
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(self.environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let log = ProgramOutput(of: process)
        let exit = ProcessExit(of: process)
        try process.run()
        guard await happens(within: .seconds(300), { await log.isClosed() }) else {
            process.terminate()
            throw DidNotEnd(output: log.text)
        }
        return ProgramRun(exitCode: await exit.status(), output: log.text)
    }
}
