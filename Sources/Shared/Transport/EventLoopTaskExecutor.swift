internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Runs tasks' jobs on an event loop, where their connections live: a call then costs no change of thread.
///
/// Jobs that come while others wait to be run go along with them: they share one entry in the event loop's own queue,
/// which costs several times what the lock here does, and one waking of its thread.
///
/// Whatever runs there must not block; a store or a vault that waits for a disk does so on threads of its own.
final class EventLoopTaskExecutor: TaskExecutor {
    private struct Jobs {
        var waiting: [UnownedJob] = []
        /// Empty memory for those that come next.
        var spare: [UnownedJob] = []
    }

    private let eventLoop: any EventLoop
    private let jobs = Mutex(Jobs())

    private init(_ eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
    }

    /// Those of the loops that all connections share.
    static let all = MultiThreadedEventLoopGroup.singleton.makeIterator().map(EventLoopTaskExecutor.init)

    private static let ofSharedLoops = Dictionary(
        uniqueKeysWithValues: all.map { (ObjectIdentifier($0.eventLoop), $0) }
    )

    /// The one of this event loop, where it is one that all connections share.
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

    /// Runs those that wait by now; what they enqueue comes in the next turn.
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
