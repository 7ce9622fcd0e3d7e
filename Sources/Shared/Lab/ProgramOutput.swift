package import Foundation
internal import Synchronization

/// Reads everything that a program writes, on a thread of its own, and wakes who waits for a word of it.
package final class ProgramOutput: Sendable {
    private struct State {
        /// Bytes, since a piece of what arrives may end within a character.
        var written = Data()
        var isClosed = false
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private struct Waiter {
        /// Nil for who waits for the end.
        let word: String?
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let state = Mutex(State())

    /// - Precondition: The process is not running yet.
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
            // Foundation lets go of no process, nor of its pipes: a run that starts a server again and again would run
            // out of file descriptors.
            try? reader.close()
            self.close()
        }
    }

    /// What it wrote until now.
    package var text: String { String(decoding: self.state.withLock(\.written), as: UTF8.self) }

    /// True once the output holds the word, false where it ended without or the task is cancelled.
    package func waits(for word: String) async -> Bool { await self.wait(for: word) }

    /// Returns when the process has closed its output, which it does by ending, or when the task is cancelled.
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
