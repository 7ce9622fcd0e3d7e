internal import NIOCore

/// Runs a task's jobs on an event loop, where its connection lives: a call then costs no change of thread.
///
/// Whatever runs there must not block; a store or a vault that waits for a disk does so on threads of its own.
final class EventLoopTaskExecutor: TaskExecutor {
    private let eventLoop: any EventLoop

    init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.eventLoop.execute {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
