internal import HostSystem
internal import NIOCore
internal import NIOPosix

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
