internal import Dispatch
internal import Glibc

/// Runs the tasks and events of all simulated processes on one thread, in an order drawn from a seed.
///
/// The hook of the Swift runtime passes every job of the global executor to ``enqueue(_:)``, so no code under test
/// chooses its executor. A job belongs to the process that runs when the job becomes ready.
///
/// `@unchecked Sendable`: one thread at a time runs a simulation. The threads of stores run only while the main thread
/// waits for them (``StoreThread``).
@safe final class Scheduler: @unchecked Sendable {
    /// The scheduler of the run in progress.
    nonisolated(unsafe) private static var active: Scheduler?

    private struct Event {
        let time: Int64
        let number: UInt64
        let process: SimulatedProcess
        let action: () -> Void
    }

    /// The simulated time in microseconds since the start.
    private(set) var now: Int64 = 0
    /// The jobs and events run so far.
    private(set) var stepCount = 0
    /// Far more than any run that ends, so that one which never ends is a violation.
    static let mostSteps = 100_000_000
    /// The process whose code is running.
    private(set) var current: SimulatedProcess?
    /// The thread that may make jobs ready.
    private var thread = pthread_self()
    private var ready: [(job: UnownedJob, process: SimulatedProcess)] = []
    /// The events, the next one last.
    private var events: [Event] = []
    private var lastNumber: UInt64 = 0
    private var generator: SeededGenerator

    init(seed: UInt64) {
        self.generator = SeededGenerator(seed: seed, "scheduler")
        unsafe Self.active = self
        Self.installHook()
    }

    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    /// Takes over the global executor (`swift_task_enqueueGlobal_hook`).
    private static func installHook() {
        guard let symbol = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("the Swift runtime has a hook for the global executor")
        }
        unsafe symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            if unsafe Scheduler.isOutside { original(job) } else { unsafe Scheduler.active?.enqueue(job) }
        }
    }

    /// True while a program runs that is not simulated.
    nonisolated(unsafe) private static var isOutside = false

    /// Runs a program that is not simulated, on the runtime's own executor, while the simulated time stands still.
    ///
    /// Returns the error that the program throws.
    func outside(_ program: @escaping @Sendable () async throws -> Void) -> (any Error)? {
        let (failure, done) = (Box<(any Error)?>(nil), DispatchSemaphore(value: 0))
        unsafe Self.isOutside = true
        Task.detached {
            do { try await program() } catch { failure.value = error }
            done.signal()
        }
        done.wait()
        unsafe Self.isOutside = false
        return failure.value
    }

    /// The executor reference of jobs that belong to no actor.
    private static let generic = unsafe unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

    private func enqueue(_ job: UnownedJob) {
        // A timer of the host, such as the one that drops the keys of an app in the background, is not simulated.
        guard pthread_equal(pthread_self(), self.thread) != 0, let process = self.current, process.isAlive else {
            return
        }
        self.ready.append((job, process))
    }

    /// Runs `action` in a process after a delay in microseconds, unless the process has ended by then.
    func schedule(after delay: Int64, in process: SimulatedProcess, _ action: @escaping () -> Void) {
        self.lastNumber += 1
        let event = Event(time: self.now + max(0, delay), number: self.lastNumber, process: process, action: action)
        // Equal times keep the order in which they were scheduled.
        let place = self.events.firstIndex { $0.time <= event.time } ?? self.events.endIndex
        self.events.insert(event, at: place)
    }

    /// Suspends the calling task for a duration in microseconds.
    func wait(_ duration: Int64) async {
        guard let process = self.current else { return }
        await withCheckedContinuation { continuation in
            self.schedule(after: duration, in: process) { continuation.resume() }
        }
    }

    /// Runs code of a process.
    func enter(_ process: SimulatedProcess, _ body: @escaping () -> Void) {
        guard process.isAlive else { return }
        guard self.now >= process.frozenUntil else {
            return self.schedule(after: process.frozenUntil - self.now, in: process, body)
        }
        let before = self.current
        self.current = process
        process.catchUp(to: self.now)
        body()
        if process.isAlive { process.settle() }
        self.current = before
    }

    /// Runs code as that of a process that may be dead; the jobs that become ready then are dropped.
    func impersonate(_ process: SimulatedProcess, _ body: () -> Void) {
        let before = self.current
        self.current = process
        body()
        self.current = before
    }

    /// Runs `body`, during which another thread may make jobs ready.
    func lend<Result>(to thread: pthread_t, _ body: () -> Result) -> Result {
        let own = self.thread
        self.thread = thread
        defer { self.thread = own }
        return body()
    }

    /// Runs jobs and events until a condition holds, none is left, or there were too many.
    func run(until isOver: () -> Bool) {
        while !isOver(), self.stepCount < Self.mostSteps, self.step() { self.stepCount += 1 }
    }

    /// Runs one job or event; returns false if there is none.
    private func step() -> Bool {
        if !self.ready.isEmpty {
            let (job, process) = self.ready.remove(at: Int.random(in: self.ready.indices, using: &self.generator))
            self.enter(process) { unsafe job.runSynchronously(on: Self.generic) }
            process.jobEnded()
            return true
        }
        guard let event = self.events.popLast() else { return false }
        self.now = max(self.now, event.time)
        self.enter(event.process, event.action)
        return true
    }

    /// Postpones the ready jobs of a frozen process until it is no longer frozen.
    func postpone(_ process: SimulatedProcess) {
        for (job, _) in self.ready.filter({ $0.process === process }) {
            self.schedule(after: process.frozenUntil - self.now, in: process) { self.ready.append((job, process)) }
        }
        self.ready.removeAll { $0.process === process }
    }

    /// Drops the jobs and events of a process that has ended.
    func drop(_ process: SimulatedProcess) {
        self.ready.removeAll { $0.process === process }
        self.keep(self.events.filter { $0.process === process }.map(\.action))
        self.events.removeAll { $0.process === process }
    }

    private var kept: [Any] = []
    /// Keeps a value of a dead process until this process ends.
    func keep(_ value: Any) { self.kept.append(value) }

}
