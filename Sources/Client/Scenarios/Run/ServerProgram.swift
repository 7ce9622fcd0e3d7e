internal import Foundation
internal import Lab

/// A real `remote-pin-server` in a process of its own, and what it writes.
final class ServerProgram: Sendable {
    private let process: Process
    private let output: ProgramOutput

    /// The server ended before it was ready; what it wrote says why.
    struct NotReady: Error {
        let output: String
    }

    /// Starts the program and returns once it says that it is ready.
    static func start(
        _ binary: String,
        _ arguments: [String],
        environment: [String: String]
    ) async throws(NotReady) -> ServerProgram {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let output = ProgramOutput(of: process)
        do {
            try process.run()
        } catch {
            throw NotReady(output: "\(binary) cannot be started: \(error)")
        }
        let program = ServerProgram(process: process, output: output)
        guard await output.waits(for: "ready on ") else {
            await output.isClosed()
            throw NotReady(output: output.text)
        }
        return program
    }

    private init(process: Process, output: ProgramOutput) {
        self.process = process
        self.output = output
    }

    /// Whoever forgets it leaves no process behind.
    deinit { self.kill() }

    /// What it wrote until now.
    var text: String { self.output.text }

    /// Asks it to stop, and waits until it has ended.
    func stop() async {
        self.process.terminate()
        await self.output.isClosed()
    }

    /// Ends it at once; returns before the kernel has let go of it.
    func kill() {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, SIGKILL) }
    }

    /// Waits until it has ended.
    func ended() async { await self.output.isClosed() }
}
