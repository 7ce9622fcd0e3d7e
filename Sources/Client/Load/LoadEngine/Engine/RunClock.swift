internal import Vocabulary

/// The time since a run began, and what the server's clock shows at the same moment.
struct RunClock: Sendable {
    let start: ContinuousClock.Instant
    /// The server's clock at the start; the same as this machine's unless a lab's is ahead.
    private let wall: Timestamp

    init(startingAt start: ContinuousClock.Instant = .now, wall: Timestamp) {
        self.start = start
        self.wall = wall
    }

    /// Since the start.
    var now: Duration { ContinuousClock.now - self.start }

    /// The server's clock at a moment of the run.
    func wall(at time: Duration) -> Timestamp { self.wall + time }

    /// The same clock, with now as the start.
    func restarted() -> RunClock {
        let now = ContinuousClock.now
        return RunClock(startingAt: now, wall: self.wall + (now - self.start))
    }

    /// Returns at that time, or at once when the task is cancelled.
    func sleep(until time: Duration) async {
        // What a cancelled sleep throws says nothing that its caller does not know.
        try? await Task.sleep(until: self.start + time, tolerance: .zero, clock: .continuous)
    }
}
