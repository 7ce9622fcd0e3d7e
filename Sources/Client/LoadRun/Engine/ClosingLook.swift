internal import LoadFleet
internal import LoadPlan
internal import Synchronization

/// Opens wallets once more at a run's end, where a crash may have had the server forget what it had counted.
///
/// What a session's opening says of the PIN is judged as any answer is. A user whose connection was lost goes on with the
/// same wallet; this looks at all others of which the server must still know wrong PINs, those that were used last first.
struct ClosingLook {
    let run: RunContext
    let clock: RunClock

    /// For all of it, and without a single wallet that could be opened.
    private static let limit: Duration = .seconds(10)
    private static let patience: Duration = .seconds(3)
    /// Sessions that are opened at the same time.
    private static let lanes = 32

    /// Says in a note how many were looked at.
    func take() async {
        let wallets = self.run.ledger.withCounts
        guard !wallets.isEmpty else { return }
        let start = self.clock.now
        let progress = Progress(wallets, at: start)
        await withDiscardingTaskGroup { group in
            for lane in 0..<min(Self.lanes, wallets.count) {
                group.addTask {
                    var generator = PlanGenerator(seed: self.run.plan.seed, stream: UInt64(lane))
                    while let wallet = progress.takeNext() {
                        let goesOn = await self.look(at: wallet, lane, until: start + Self.limit, progress, &generator)
                        guard goesOn else { break }
                    }
                }
            }
        }
        let opened = progress.opened
        self.run.events.note(
            "after the server was gone \(opened) of \(wallets.count) wallets with wrong PINs were opened once more at the end"
        )
    }

    /// False where there is no time for others.
    private func look(
        at wallet: Int,
        _ lane: Int,
        until end: Duration,
        _ progress: Progress,
        _ generator: inout PlanGenerator
    ) async -> Bool {
        var backoff = Backoff()
        while self.clock.now < end, !Task.isCancelled {
            do throws(FleetFailure) {
                let session = try await OpenedSession.open(
                    lane,
                    wallet: wallet,
                    in: self.run,
                    clock: self.clock,
                    using: &generator
                )
                try session?.close(in: self.run, clock: self.clock)
                progress.succeeds(at: self.clock.now)
                return true
            } catch {
                guard error.isTransient else { return true }
                guard self.clock.now < progress.lastSuccess + Self.patience else { return false }
                await self.clock.sleep(until: self.clock.now + backoff.grow(using: &generator))
            }
        }
        return false
    }
}

/// What is left of a look, for all lanes of it.
private final class Progress: Sendable {
    private struct State {
        var next = 0
        var opened = 0
        var lastSuccess: Duration
    }

    private let wallets: [Int]
    private let state: Mutex<State>

    init(_ wallets: [Int], at now: Duration) {
        self.wallets = wallets
        self.state = Mutex(State(lastSuccess: now))
    }

    var opened: Int { self.state.withLock(\.opened) }
    /// Or the beginning.
    var lastSuccess: Duration { self.state.withLock(\.lastSuccess) }

    func takeNext() -> Int? {
        self.state.withLock { state in
            guard state.next < self.wallets.count else { return nil }
            defer { state.next += 1 }
            return self.wallets[state.next]
        }
    }

    func succeeds(at now: Duration) {
        self.state.withLock { state in
            state.opened += 1
            state.lastSuccess = now
        }
    }
}
