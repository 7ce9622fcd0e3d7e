internal import NIOCore
internal import NIOEmbedded
internal import Vocabulary

/// A simulated operating-system process: a server, or a run of the app on a phone.
///
/// Killing it drops its tasks at their present suspension points, its connections and its timers.
///
/// `@unchecked Sendable`: see ``Scheduler``.
final class SimulatedProcess: @unchecked Sendable {
    let name: String
    let loop = EmbeddedEventLoop()
    unowned let scheduler: Scheduler
    private(set) var isAlive = true
    /// The time until which none of the process's code runs, as if its machine were suspended.
    private(set) var frozenUntil: Int64 = 0
    /// The connections with an end in this process.
    private(set) var links: [Link] = []
    /// Runs after each piece of the process's code.
    var onSettle: () -> Void = {}
    /// Runs once when the process ends by a kill.
    var onKill: (SimulatedProcess) -> Void = { _ in }
    /// The jobs until a planned kill.
    private var countdown: (jobs: Int, act: () -> Void)?
    private var isTicking = false

    /// The last time at which a connection carried something.
    private var active: Int64 = 0
    /// The intervals in microseconds at which due timers of the event loop are fired; a timer is late by at most this.
    ///
    /// `idleTick` applies if nothing was sent for ``longestCall``: only timers of idle connections are then pending.
    private static let (tick, idleTick): (Int64, Int64) = (1_000_000, 20_000_000)
    /// No timer of a call is longer.
    private static let longestCall: Int64 = 30_000_000

    init(_ name: String, _ scheduler: Scheduler) {
        self.name = name
        self.scheduler = scheduler
    }

    func add(_ link: Link) {
        self.links.append(link)
        self.startTicking()
    }

    /// Notes that a connection carries something, which may start the timer of a call.
    func noteActivity() { self.active = self.scheduler.now }

    private func startTicking() {
        guard !self.isTicking, !self.links.isEmpty else { return }
        self.isTicking = true
        let isIdle = self.scheduler.now - self.active > Self.longestCall
        self.scheduler.schedule(after: isIdle ? Self.idleTick : Self.tick, in: self) {
            self.isTicking = false
            self.startTicking()
        }
    }

    /// Fires the timers of the event loop that are due.
    func catchUp(to now: Int64) {
        self.loop.advanceTime(to: .uptimeNanoseconds(UInt64(now) * 1000))
    }

    /// Passes on what the process has sent.
    func settle() {
        self.loop.run()
        for link in self.links { link.collect(from: self) }
        self.links.removeAll { $0.isOver(for: self) }
        self.onSettle()
    }

    /// Ends the process after this many more of its jobs.
    func plan(after jobs: Int, _ act: @escaping () -> Void) { self.countdown = (jobs, act) }

    func jobEnded() {
        guard let countdown = self.countdown else { return }
        self.countdown = countdown.jobs > 0 ? (countdown.jobs - 1, countdown.act) : nil
        if countdown.jobs == 0 { countdown.act() }
    }

    /// Freezes the process: what would run meanwhile runs afterwards.
    func freeze(for duration: Int64) {
        self.frozenUntil = self.scheduler.now + duration
        self.scheduler.postpone(self)
        for link in self.links { link.dropWaitingAnswers(of: self) }
    }

    /// Ends the process: nothing of it runs any more.
    func kill() {
        guard self.isAlive else { return }
        self.isAlive = false
        self.countdown = nil
        self.scheduler.drop(self)
        self.onKill(self)
        for link in self.links { link.lose(self) }
        // Suspended tasks hold continuations, which must not be freed.
        self.scheduler.keep(self)
        self.scheduler.keep(self.links)
    }
}

/// The clock of a process: the simulated time and an offset that faults change.
final class SimulatedClock: WallClock, @unchecked Sendable {
    /// 2027-01-15.
    static let start: Int64 = 1_800_000_000_000

    private unowned let scheduler: Scheduler
    /// Milliseconds.
    var offset: Int64 = 0

    init(_ scheduler: Scheduler) {
        self.scheduler = scheduler
    }

    func now() -> Timestamp { Timestamp(milliseconds: Self.start + self.scheduler.now / 1000 + self.offset) }
}
