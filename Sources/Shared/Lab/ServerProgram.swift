package import Foundation
internal import HostSystem
internal import Synchronization

/// A `remote-pin-server` in a separate process, for scenarios, load runs and tests that start, kill and restart one.
package final class ServerProgram: Sendable {
    private let process: Process
    /// The write end of the server's standard input.
    ///
    /// It is closed when this process exits for any reason, so a server that was started with `--follow-input` never
    /// outlives it.
    private let input: Pipe
    private let log: ProgramOutput
    private let exit: ProcessExit

    /// The server could not be started, exited before it was ready, or was killed after a timeout.
    ///
    /// The reason is in the output.
    package struct NotReady: Error, CustomStringConvertible {
        package let output: String
        /// The timeout, if the server neither became ready nor exited in time.
        package var patience: Duration?

        package var description: String {
            guard let patience else { return "the server did not become ready:\n\(self.output)" }
            return "the server was not ready after \(patience) and was killed; it wrote:\n\(self.output)"
        }
    }

    /// The file name of the program.
    package static let name = "remote-pin-server"

    /// The text written by the server when it accepts connections.
    package static let readyWord = "ready on "

    /// The program in the same folder as the running program, or nil if it does not exist.
    package static var besideThisProgram: String? {
        guard let path = try? OtherProgram.path(besideThisOne: self.name) else { return nil }
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// Starts the program and waits until it reports that it is ready.
    ///
    /// Kills it if it times out or the task is cancelled.
    ///
    /// - Parameters:
    ///   - word: The text that reports readiness, which may be different for other programs.
    ///   - patience: The timeout, or nil to wait indefinitely.
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
        // If another child process inherited the descriptor, the server would not notice when this process exits.
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

    /// The time to wait for the kernel to end a program that was killed because it never became ready.
    private static let killingTime: Duration = .seconds(5)

    private init(process: Process, input: Pipe, log: ProgramOutput, exit: ProcessExit) {
        self.process = process
        self.input = input
        self.log = log
        self.exit = exit
    }

    /// Kills the server, so that no process is left behind.
    deinit {
        self.send(SIGKILL)
        self.closeInput()
    }

    package var processID: Int32 { self.process.processIdentifier }

    /// The output so far.
    package var output: String { self.log.text }

    /// Sends a signal unless the server has exited.
    ///
    /// Does not wait for it to take effect.
    package func send(_ signal: Int32) {
        if self.process.isRunning { Foundation.kill(self.process.processIdentifier, signal) }
    }

    /// Waits until the server has written `word`; returns false if it exits without doing so.
    package func writes(_ word: String) async -> Bool { await self.log.waits(for: word) }

    /// Waits for the server to exit, even if the task is cancelled, and returns its exit status.
    ///
    /// May only be called once.
    @discardableResult
    package func ended() async -> Int32 { await Task { await self.endOrCancellation() }.value }

    private func endOrCancellation() async -> Int32 {
        await self.log.isClosed()
        self.closeInput()
        return await self.exit.status()
    }

    /// Closes the pipe, which Foundation would otherwise keep open (see ``ProgramOutput``).
    private func closeInput() { try? self.input.fileHandleForWriting.close() }

    /// Kills the server and waits for the process to exit.
    package func kill() async {
        self.send(SIGKILL)
        await self.ended()
    }

    /// Kills a program whose children may survive it and keep its output open.
    ///
    /// Does not wait for the children.
    ///
    /// - Returns: Whether the program and its output ended within the limit.
    @discardableResult
    package func kill(within limit: Duration) async -> Bool {
        self.send(SIGKILL)
        return await self.ended(within: limit)
    }

    /// Sends SIGTERM, and kills the server if it does not exit within the limit.
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

/// Waits for a process to exit and provides its status.
///
/// We cannot use `waitUntilExit()`, because it runs the calling thread's run loop, which must not happen in a task.
package final class ProcessExit: Sendable {
    private let (statuses, ended) = AsyncStream.makeStream(of: Int32.self)

    /// - Precondition: The process has not been started yet.
    package init(of process: Process) {
        process.terminationHandler = { [ended] process in
            ended.yield(process.terminationStatus)
            ended.finish()
        }
    }

    /// Waits for the process to exit.
    ///
    /// May only be called once.
    package func status() async -> Int32 {
        for await status in self.statuses { return status }
        return -1
    }
}

/// Reads a program's output on a separate thread and resumes tasks that are waiting for specific text.
package final class ProgramOutput: Sendable {
    private struct State {
        /// This is bytes rather than a string, because a chunk may end in the middle of a character.
        var written = Data()
        var isClosed = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private struct Waiter {
        /// The text to wait for, or nil to wait for the end of the output.
        let word: String?
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let state = Mutex(State())

    /// - Precondition: The process has not been started yet.
    package init(of process: Process) {
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        let reader = pipe.fileHandleForReading
        Thread.detachNewThread { [self] in
            while true {
                let data = reader.availableData
                if data.isEmpty { break }
                self.append(data)
            }
            // Foundation never releases a process or its pipes, so a run that keeps restarting a server would
            // eventually run out of file descriptors.
            try? reader.close()  // rule: lab-program-output-left-open
            self.close()
        }
    }

    /// The output so far.
    package var text: String { String(decoding: self.state.withLock(\.written), as: UTF8.self) }

    /// Waits until the output contains the word.
    ///
    /// Returns false if the output ends without it or the task is cancelled.
    package func waits(for word: String) async -> Bool { await self.wait(for: word) }

    /// Waits until the process has closed its output, usually by exiting, or the task is cancelled.
    package func isClosed() async { _ = await self.wait(for: nil) }

    private func wait(for word: String?) async -> Bool {
        let number = self.state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.state.withLock { state in
                    if let word, String(decoding: state.written, as: UTF8.self).contains(word) {
                        continuation.resume(returning: true)
                    } else if state.isClosed {
                        continuation.resume(returning: word == nil)
                    } else if Task.isCancelled {
                        continuation.resume(returning: false)
                    } else {
                        state.waiters[number] = Waiter(word: word, continuation: continuation)
                    }
                }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
    }

    private func append(_ data: Data) {
        self.state.withLock { state in
            state.written += data
            guard !state.waiters.isEmpty else { return }
            let whole = String(decoding: state.written, as: UTF8.self)
            for (number, waiter) in state.waiters where waiter.word.map(whole.contains) ?? false {
                state.waiters[number] = nil
                waiter.continuation.resume(returning: true)
            }
        }
    }

    private func close() {
        self.state.withLock { state in
            state.isClosed = true
            for waiter in state.waiters.values { waiter.continuation.resume(returning: waiter.word == nil) }
            state.waiters = [:]
        }
    }
}
