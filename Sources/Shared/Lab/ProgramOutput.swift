package import Foundation
internal import Synchronization

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
            try? reader.close()
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
