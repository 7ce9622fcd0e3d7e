internal import Dispatch
internal import Foundation
internal import Glibc

/// A thread of a PostgreSQL store, which runs only while the scheduler waits for it.
///
/// A call that blocks in production pauses the thread until an event of its process lets it continue. A thread of a
/// killed process stays paused for ever.
///
/// `@unchecked Sendable`: see ``Scheduler``. The two semaphores let one of the two threads run at a time.
final class SimulatedThread: @unchecked Sendable {
    /// The thread whose turn it is; nil for the main thread.
    nonisolated(unsafe) private static var current: SimulatedThread?

    private let granted = DispatchSemaphore(value: 0)
    private let idle = DispatchSemaphore(value: 0)
    private var thread: pthread_t?
    fileprivate let process: SimulatedProcess

    /// Starts a thread of a process, which soon gets its first turn.
    init(in process: SimulatedProcess, _ body: @escaping @Sendable () -> Void) {
        self.process = process
        let thread = Thread {
            self.thread = pthread_self()
            self.pause()
            body()
            self.idle.signal()
        }
        thread.start()
        self.idle.wait()
        process.scheduler.schedule(after: 1, in: process) { self.turn() }
    }

    /// Lets the thread run until it pauses or ends; called by an event of its process.
    fileprivate func turn() {
        guard let thread = self.thread else { return }
        unsafe Self.current = self
        self.process.scheduler.lend(to: thread) {
            self.granted.signal()
            self.idle.wait()
        }
        unsafe Self.current = nil
    }

    private func pause() {
        self.idle.signal()
        self.granted.wait()
    }

    /// A pause of a thread, which the first of several events ends.
    final class Pause {
        private let thread: SimulatedThread
        private var isOver = false

        fileprivate init(_ thread: SimulatedThread) {
            self.thread = thread
        }

        /// Lets the thread continue after a delay in microseconds, unless something else has.
        func end(after delay: Int64 = 1) {
            self.thread.process.scheduler.schedule(after: delay, in: self.thread.process) {
                guard !self.isOver else { return }
                self.isOver = true
                self.thread.turn()
            }
        }
    }

    /// Pauses the calling thread until something ends the pause that `begin` gets.
    static func pause(_ begin: (Pause) -> Void) {
        guard let thread = unsafe self.current else {
            preconditionFailure("only a thread of a store blocks")
        }
        begin(Pause(thread))
        thread.pause()
    }

    /// Pauses the calling thread until `begin` has an answer, or nil after `limit` microseconds.
    static func wait<Answer>(atMost limit: Int64, _ begin: (@escaping (Answer) -> Void) -> Void) -> Answer? {
        var answer: Answer?
        self.pause { pause in
            pause.end(after: max(1, limit))
            begin {
                answer = $0
                pause.end()
            }
        }
        return answer
    }
}
