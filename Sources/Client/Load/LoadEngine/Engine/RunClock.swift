internal import Vocabulary

/// The time since the start of a run, and the corresponding time on the server's clock.
struct RunClock: Sendable {
    let start: ContinuousClock.Instant
    /// The server's clock at the start.
    ///
    /// It is the same as this machine's clock unless a lab's clock is ahead.
    private let wall: Timestamp

    init(startingAt start: ContinuousClock.Instant = .now, wall: Timestamp) {
        self.start = start
        self.wall = wall
    }

    /// The time since the start.
    var now: Duration { ContinuousClock.now - self.start }

    /// Returns the server's clock at a moment of the run.
    func wall(at time: Duration) -> Timestamp { self.wall + time }

    /// Returns the same clock, restarted now.
    func restarted() -> RunClock {
        let now = ContinuousClock.now
        return RunClock(startingAt: now, wall: self.wall + (now - self.start))
    }

    /// Returns a clock with the same start, synchronized with the server's current time.
    func synchronized(with serverTime: Timestamp) -> RunClock {
        RunClock(startingAt: self.start, wall: serverTime + (.zero - self.now))
    }

    /// Returns at the given time, or immediately if the task is cancelled.
    func sleep(until time: Duration) async {
        // The caller checks for cancellation.
        try? await Task.sleep(until: self.start + time, tolerance: .zero, clock: .continuous)
    }
}
