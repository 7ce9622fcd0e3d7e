internal import Dispatch
internal import Glibc
internal import WalletStore

/// The store's thread, which runs only while the scheduler waits for it.
///
/// `@unchecked Sendable`: the two semaphores let one of the two threads run at a time.
final class StoreThread: StoreWake, @unchecked Sendable {
    private let granted = DispatchSemaphore(value: 0)
    private let idle = DispatchSemaphore(value: 0)
    private var thread: pthread_t?
    private var isStopped = false
    /// Asks for a turn of the thread.
    private let onSignal: () -> Void

    init(onSignal: @escaping () -> Void) {
        self.onSignal = onSignal
    }

    func signal() -> Int {
        self.onSignal()
        return 0
    }

    /// Called by the store's thread, which has no more to do.
    func wait() {
        self.thread = pthread_self()
        self.idle.signal()
        self.granted.wait()
    }

    /// A batch takes what is there: nothing arrives during a turn.
    func wait(atMost limit: Duration) {}

    /// Waits until the new thread waits for its first step.
    func started() { self.idle.wait() }

    /// Lets the thread run until it waits again, or until it ends the process.
    func turn(_ scheduler: Scheduler) {
        guard let thread = self.thread, !self.isStopped else { return }
        scheduler.lend(to: thread) {
            self.granted.signal()
            self.idle.wait()
        }
    }

    /// Whether the calling thread is the store's.
    var isCurrent: Bool { self.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

    /// Ends the turn for ever; called by the store's thread.
    func stop() -> Never {
        self.isStopped = true
        self.idle.signal()
        while true { pause() }
    }
}
