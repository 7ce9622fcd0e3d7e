internal import HostSystem
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// The threads that serve all connections.
package enum EventLoops {
    /// Sets the number of threads.
    ///
    /// Without this, there is one for each processor of the machine.
    ///
    /// - Parameter threads: The number, or nil for one for each processor that this process may run on. More threads
    ///   would only take turns on the same processors, so that some connections have to wait much longer than others.
    /// - Important: This must be called before the first connection or listener is created. After that, it has no
    ///   effect.
    package static func use(threads: Int?) {
        NIOSingletons.groupLoopCountSuggestion = max(1, threads ?? min(Processors.allowed ?? .max, System.coreCount))
    }

    /// Returns the executor of an event loop, for a task that opens connections one after another.
    ///
    /// Successive numbers get different event loops. The task must not block.
    package static func executor(_ number: Int) -> any TaskExecutor {
        EventLoopTaskExecutor.all[number % EventLoopTaskExecutor.all.count]
    }

    /// Waits using a timer on the event loop that the task runs on, so that no other thread is woken.
    ///
    /// Returns early when the task is cancelled.
    package static func pause(for duration: Duration) async {
        let timer = self.here.any().scheduleTask(in: TimeAmount(duration)) {}
        await withTaskCancellationHandler {
            // This throws if the timer was cancelled, in which case we are done waiting too.
            try? await timer.futureResult.get()
        } onCancel: {
            timer.cancel()
        }
    }

    /// The event loop that the caller runs on, or all of them if it runs on none.
    static var here: any EventLoopGroup {
        MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton
    }
}

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

    private init(_ eventLoop: any EventLoop) { self.eventLoop = eventLoop }

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
