internal import Foundation
internal import HostSystem
internal import Synchronization

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
        process.environment = Environment.all.merging(environment) { $1 }
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

/// The environment of this process, as its children get it.
private enum Environment {
    static var all: [String: String] { ProcessInfo.processInfo.environment }
}

/// Reads everything that a process writes, on a thread of its own, and wakes who waits for it.
private final class ProgramOutput: Sendable {
    private struct State {
        var text = ""
        var isClosed = false
        var waiters: [(word: String?, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    init(of process: Process) {
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        let reader = pipe.fileHandleForReading
        Thread.detachNewThread { [self] in
            while true {
                let data = reader.availableData
                if data.isEmpty { break }
                self.append(String(decoding: data, as: UTF8.self))
            }
            self.close()
        }
    }

    var text: String { self.state.withLock(\.text) }

    /// True once the output holds the word, false where it ended without.
    func waits(for word: String) async -> Bool { await self.wait(for: word) }

    /// Returns when the process has closed its output, which it does by ending.
    func isClosed() async { _ = await self.wait(for: nil) }

    private func wait(for word: String?) async -> Bool {
        await withCheckedContinuation { continuation in
            self.state.withLock { state in
                if let word, state.text.contains(word) {
                    continuation.resume(returning: true)
                } else if state.isClosed {
                    continuation.resume(returning: word == nil)
                } else {
                    state.waiters.append((word, continuation))
                }
            }
        }
    }

    private func append(_ text: String) {
        self.state.withLock { state in
            state.text += text
            let whole = state.text
            for waiter in state.waiters {
                if let word = waiter.word, whole.contains(word) { waiter.continuation.resume(returning: true) }
            }
            state.waiters.removeAll { $0.word.map(whole.contains) ?? false }
        }
    }

    private func close() {
        self.state.withLock { state in
            state.isClosed = true
            for waiter in state.waiters { waiter.continuation.resume(returning: waiter.word == nil) }
            state.waiters = []
        }
    }
}
