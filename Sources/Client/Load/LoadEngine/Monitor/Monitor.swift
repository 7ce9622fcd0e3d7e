internal import Foundation
internal import HostSystem
internal import Secrets
internal import Statements
internal import Synchronization
internal import Transport
internal import Vocabulary

/// Once a second, collects a run's measurements and the processes' CPU usage, and checks them against the thresholds.
final class Monitor: Sendable {
    private let run: RunContext
    private let options: LoadRun.Options
    private let idle: [OpenedSession]
    private let onProgress: @Sendable (LoadProgress) -> Void
    private let verificationCost = VerificationCostSampler()

    /// The number of consecutive intervals for which a rate or percentile may miss its threshold before the run is
    /// aborted.
    private static let maxMissed = 5
    /// The time after the end of the plan during which responses still count towards its last interval.
    private static let lateness: Duration = .milliseconds(250)

    init(
        _ run: RunContext,
        options: LoadRun.Options,
        idle: [OpenedSession],
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) {
        self.run = run
        self.options = options
        self.idle = idle
        self.onProgress = onProgress
    }

    private struct State {
        var intervals: [Interval] = []
        var totals = Totals()
        var start = Duration.zero
        var server: (pid: Int32, meter: ProcessMeter, cpu: Duration)?
        var tool = ProcessMeter(pid: nil)
        var toolCPU: Duration?
        var missed: [String: Int] = [:]
        /// The last values from before the end of the plan.
        ///
        /// Connections start closing at that time.
        var use = (connections: 0, inFlight: 0)
        /// Whether the run was already ending when the current interval began.
        var isOver = false
    }

    /// Returns all intervals once the task is cancelled, at the end of the load.
    func run() async -> [Interval] {
        var state = State()
        state.toolCPU = state.tool.read()?.cpu
        self.follow(&state)
        self.verificationCost?.start()
        defer { self.verificationCost?.stop() }
        while !Task.isCancelled {
            let end = self.boundary(after: state.start)
            await self.wait(until: end, &state)
            if Task.isCancelled { break }
            self.take(until: min(end, max(self.run.clock.now, state.start)), &state)
            // If intervals take longer than they last, the wait above never suspends. Then the run could not end on a
            // machine whose few threads all collect intervals.
            await Task.yield()
        }
        let now = self.run.clock.now
        let end = self.run.schedule.duration
        let isLate = now > end + Self.lateness || state.start >= end
        let last = isLate ? now : min(now, end)
        if last > state.start { self.take(until: last, &state) }
        return state.intervals
    }

    /// Returns the next second of the run, counted from the end of the warm-up, or the end of the run.
    private func boundary(after time: Duration) -> Duration {
        let (warmup, end) = (self.run.schedule.warmup, self.run.schedule.duration)
        if time < warmup { return min(warmup, .seconds(time.components.seconds + 1)) }
        let next = warmup + .seconds((time - warmup).components.seconds + 1)
        return time < end ? min(next, end) : next
    }

    /// Returns the time at which to take an interval with this end.
    ///
    /// Responses that arrive right after the end belong to the plan's last interval. This does not apply if there is a
    /// backlog of unsent checks, because that would add responses from more than one second.
    private func wake(for time: Duration) -> Duration {
        let hasBacklog = self.run.queue.map { $0.waiting > 0 } ?? false
        return time == self.run.schedule.duration && !hasBacklog ? time + Self.lateness : time
    }

    /// Waits and admits arrivals when they are due, even if no connection asks for one.
    private func wait(until time: Duration, _ state: inout State) async {
        let end = self.run.schedule.duration
        while !Task.isCancelled, self.run.clock.now < self.wake(for: time) {
            // After an early end, waiting for responses is a separate interval.
            if self.run.gauges.isStopping, !state.isOver, self.run.clock.now < end { break }
            if let queue = self.run.queue {
                let unsent = queue.advance(to: self.run.clock.now)
                if unsent > 0 { self.run.recorder.recordUnsent(unsent) }
            }
            self.look(&state)
            await self.run.clock.sleep(until: min(self.wake(for: time), self.run.clock.now + .milliseconds(50)))
        }
        if let death = self.run.events.takeServerDeath() {
            self.run.histories.serverEnded(by: self.run.clock.wall(at: death))
        }
    }

    /// Records open connections and calls in flight, until the end of the plan or the last response.
    private func look(_ state: inout State) {
        let inFlight = self.run.queue?.inFlight ?? self.run.gauges.inFlight.load(ordering: .relaxed)
        guard inFlight > 0 || self.run.clock.now < self.run.schedule.duration else { return }
        state.use = (self.run.gauges.connections.load(ordering: .relaxed), inFlight)
    }

    private func take(until end: Duration, _ state: inout State) {
        let start = state.start
        if let queue = self.run.queue {
            let now = self.run.clock.now
            let unsent = self.run.gauges.isStopping ? queue.abandon(at: now) : queue.advance(to: now)
            if unsent > 0 { self.run.recorder.recordUnsent(unsent) }
        }
        let interval = self.run.recorder.takeInterval(
            from: start,
            to: end,
            isWarmup: start < self.run.schedule.warmup,
            isTail: state.isOver || start >= self.run.schedule.duration,
            stage: self.run.schedule.name(at: start + (end - start) / 2),
            gauges: self.gauges(at: start + (end - start) / 2, &state)
        )
        state.start = end
        state.isOver = self.run.gauges.isStopping
        state.intervals.append(interval)
        state.totals.add(interval)
        let failing = self.judge(&state)
        self.onProgress(
            .running(
                RunSnapshot(
                    interval: interval,
                    totals: state.totals,
                    duration: self.run.schedule.duration,
                    load: self.run.schedule.level(at: end),
                    waiting: self.run.queue?.waiting ?? 0,
                    repeated: self.run.gauges.repeated.load(ordering: .relaxed),
                    failing: failing
                )
            )
        )
    }

    private func gauges(at middle: Duration, _ state: inout State) -> Gauges {
        let closed = self.idle.reduce(0) { $0 + ($1.session.connection.isOpen ? 0 : 1) }
        if closed > 0 { self.run.events.note("the server closed idle connections before the run's end") }
        var gauges = Gauges(
            connections: state.use.connections - closed,
            inFlight: state.use.inFlight,
            plannedRate: self.run.plan.isOpen
                ? self.run.schedule.level(at: middle) / Double(self.run.plan.share.count) : nil
        )
        let known = state.server?.pid
        self.follow(&state)
        if var server = state.server, let reading = server.meter.read() {
            // If the process was replaced during this interval, its CPU time is unknown, because the usage of a process
            // that has exited cannot be read.
            if server.pid == known { gauges.serverCPUSeconds = (reading.cpu - server.cpu) / .seconds(1) }
            gauges.serverResidentBytes = reading.residentBytes
            server.cpu = reading.cpu
            state.server = server
            gauges.verificationMicroseconds = self.verificationCost?.take()
        }
        if let reading = state.tool.read() {
            gauges.toolCPUSeconds = state.toolCPU.map { (reading.cpu - $0) / .seconds(1) }
            state.toolCPU = reading.cpu
        }
        return gauges
    }

    /// Switches to the server's current process.
    private func follow(_ state: inout State) {
        let pid = self.run.events.serverPID
        guard pid != state.server?.pid else { return }
        state.server = nil
        guard let pid else { return }
        var meter = ProcessMeter(pid: pid)
        if let reading = meter.read() { state.server = (pid, meter, reading.cpu) }
    }

    /// Returns the thresholds that are not met so far.
    ///
    /// Aborts the run if the options require it.
    private func judge(_ state: inout State) -> [String] {
        var failing: [String] = []
        for threshold in self.options.thresholds {
            guard threshold.isMet(by: state.totals) == false, !threshold.isPending(by: state.totals) else {
                state.missed[threshold.text] = nil
                continue
            }
            failing.append(threshold.text)
            state.missed[threshold.text, default: 0] += 1
            let isOver =
                threshold.isLost(by: state.totals) || state.missed[threshold.text, default: 0] >= Self.maxMissed
            if self.options.abortsOnFail, isOver { self.run.events.end(.aborted) }
        }
        return failing
    }
}

/// Samples the CPU cost of a signature verification on this machine while the load is running.
///
/// Each PIN check needs one verification, alone or in a batch. Ten times a second, a separate thread performs a few of
/// them with the library that the server uses, which takes about a hundredth of a core. A measurement before the run
/// would not include the slowdown caused by neighbors on a shared machine, which also affects the server.
final class VerificationCostSampler: Sendable {
    private struct State {
        var cpu: Duration = .zero
        var count = 0
        var isStopped = false
    }

    private static let atOnce = 10
    private static let pause = 0.1

    private let state = Mutex(State())
    private let verifier: VerifyingKey
    private let statement: Statement
    private let signature: P256Signature

    /// Returns nil if its key cannot be created, which has never been observed.
    init?() {
        guard let pin = PIN(copying: Array("024791".utf8)),
            let binding = ChannelBinding([UInt8](repeating: 7, count: ChannelBindingKind.byteCount))
        else { return nil }
        let key = PINKey(pin: pin, salt: SecretBytes.random(count: PINKey.saltByteCount))
        let body = [UInt8](repeating: 1, count: 110)
        self.statement = Statement(.instructPIN, channelBinding: binding, walletID: .random(), counter: 1, body: body)
        self.signature = key.sign(self.statement)
        guard let verifier = VerifyingKey(key.publicKey) else { return nil }
        self.verifier = verifier
    }

    /// Starts the thread.
    ///
    /// ``stop()`` ends it.
    func start() {
        let thread = Thread { self.run() }
        thread.name = "verification-cost"
        thread.start()
    }

    func stop() { self.state.withLock { $0.isStopped = true } }

    /// Returns the mean CPU time of a verification since the last call in µs, or nil if there were none.
    func take() -> Double? {
        let (cpu, count) = self.state.withLock { state in
            defer { (state.cpu, state.count) = (.zero, 0) }
            return (state.cpu, state.count)
        }
        return count > 0 ? (cpu / .microseconds(1)) / Double(count) : nil
    }

    private func run() {
        while !self.state.withLock({ $0.isStopped }) {
            let before = ThreadTime.cpu
            for _ in 0..<Self.atOnce { precondition(self.verifier.isValid(self.signature, for: self.statement)) }
            let cpu = ThreadTime.cpu - before
            self.state.withLock { state in
                state.cpu += cpu
                state.count += Self.atOnce
            }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }
}
