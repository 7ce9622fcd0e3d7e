internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A task executor that runs jobs on their connection's event loop, so that a call does not require a thread switch.
///
/// Jobs that arrive while others are queued run together with them. They share a single wakeup of the thread and a
/// single entry in the event loop's queue, which costs several times as much as taking the lock here.
///
/// Jobs must not block. The store and the vault, which wait for the disk, use separate threads.
final class EventLoopTaskExecutor: TaskExecutor {
    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// An empty array whose memory is reused for the next jobs.
        var spare: [UnownedJob] = []
    }

    private let eventLoop: any EventLoop
    private let jobs = Mutex(Jobs())

    private init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// The executors for the shared event loop group.
    static let all = MultiThreadedEventLoopGroup.singleton.makeIterator().map(EventLoopTaskExecutor.init)

    private static let ofSharedLoops = Dictionary(
        uniqueKeysWithValues: all.map { (ObjectIdentifier($0.eventLoop), $0) }
    )

    /// Returns the executor for an event loop, or a new one if the loop is not part of the shared group.
    static func of(_ eventLoop: any EventLoop) -> EventLoopTaskExecutor {
        Self.ofSharedLoops[ObjectIdentifier(eventLoop)] ?? EventLoopTaskExecutor(eventLoop)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFirst = self.jobs.withLock { jobs in
            jobs.waiting.append(job)
            return jobs.waiting.count == 1
        }
        if isFirst { self.eventLoop.execute { self.runWaiting() } }
    }

    /// Runs the jobs that are queued at this point.
    ///
    /// Any jobs they enqueue run in the next tick.
    private func runWaiting() {
        var taken = self.jobs.withLock { jobs in
            defer { (jobs.waiting, jobs.spare) = (jobs.spare, []) }
            return jobs.waiting
        }
        let executor = unsafe self.asUnownedTaskExecutor()
        for job in taken { unsafe job.runSynchronously(on: executor) }
        taken.removeAll(keepingCapacity: true)
        self.jobs.withLock { $0.spare = taken }
    }
}
