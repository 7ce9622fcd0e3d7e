internal import Dispatch
package import NIOEmbedded
internal import Synchronization

/// A task executor that runs every job on the thread that waits for a result, in the order of arrival.
///
/// The production server's calls thus run without concurrency: the same inputs lead to the same outputs.
package final class JobQueue: TaskExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let arrived = DispatchSemaphore(value: 0)
    /// The longest wait for a job, which only a write of the audit log causes; longer means a deadlock.
    private static let patience = 20

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.jobs.withLock { $0.append(job) }
        self.arrived.signal()
    }

    /// Runs jobs, and the tasks of these event loops, until a condition holds.
    package func run(_ loops: [EmbeddedEventLoop] = [], until isDone: () -> Bool) {
        for loop in loops { loop.run() }
        while !isDone() {
            guard self.arrived.wait(timeout: .now() + .seconds(Self.patience)) == .success else {
                preconditionFailure("the server neither answers nor calls its store")
            }
            self.runNext()
            for loop in loops { loop.run() }
        }
    }

    /// Runs the jobs that are ready.
    package func runReady(_ loops: [EmbeddedEventLoop]) {
        for loop in loops { loop.run() }
        while self.arrived.wait(timeout: .now()) == .success {
            self.runNext()
            for loop in loops { loop.run() }
        }
    }

    private func runNext() {
        let job = self.jobs.withLock { $0.removeFirst() }
        unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
    }

    /// Runs an asynchronous function that may throw to its end.
    package func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let result: Result<Value, any Error> = self.value {
            do { return .success(try await body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Runs an asynchronous function to its end.
    package func value<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
        let result = Box<Value?>(nil)
        Task(executorPreference: self) {
            let value = await body()
            result.value = value
        }
        self.run { result.value != nil }
        guard let value = result.value else { preconditionFailure("the loop ends with a value") }
        return value
    }
}
