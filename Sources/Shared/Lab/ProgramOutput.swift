public import Foundation
internal import Synchronization

/// Reads everything that a program writes, on a thread of its own, and wakes who waits for a word of it.
public final class ProgramOutput: Sendable {
    private struct State {
        /// Bytes, since a piece of what arrives may end within a character.
        var written = Data()
        var isClosed = false
        var waiters: [(word: String?, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// - Precondition: The process is not running yet.
    public init(of process: Process) {
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
    public var text: String { String(decoding: self.state.withLock(\.written), as: UTF8.self) }

    /// True once the output holds the word, false where it ended without.
    public func waits(for word: String) async -> Bool { await self.wait(for: word) }

    /// Returns when the process has closed its output, which it does by ending.
    public func isClosed() async { _ = await self.wait(for: nil) }

    private func wait(for word: String?) async -> Bool {
        await withCheckedContinuation { continuation in
            self.state.withLock { state in
                if let word, String(decoding: state.written, as: UTF8.self).contains(word) {
                    continuation.resume(returning: true)
                } else if state.isClosed {
                    continuation.resume(returning: word == nil)
                } else {
                    state.waiters.append((word, continuation))
                }
            }
        }
    }

    private func append(_ data: Data) {
        self.state.withLock { state in
            state.written += data
            guard !state.waiters.isEmpty else { return }
            let whole = String(decoding: state.written, as: UTF8.self)
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
