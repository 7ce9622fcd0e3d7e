internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Synchronization
internal import Wire

/// Opens wallets once more at a run's end, where a crash may have had the server forget what it had counted.
///
/// What a session's opening says of the PIN is judged as any answer is. A user whose connection was lost goes on with the
/// same wallet; this looks at all others of which the server must still know wrong PINs, those that were used last first.
struct FinalCheck {
    let run: RunContext
    let clock: RunClock

    /// For all of it, and without a single wallet that could be opened.
    private static let limit: Duration = .seconds(10)
    private static let patience: Duration = .seconds(3)
    /// Sessions that are opened at the same time.
    private static let lanes = 32

    /// Says in a note how many were looked at.
    func take() async {
        let wallets = self.run.histories.withCounts
        guard !wallets.isEmpty else { return }
        let end = self.clock.now + Self.limit
        let progress = Progress(wallets, at: self.clock.now)
        await withTaskGroup { group in
            group.addTask { await self.look(at: min(Self.lanes, wallets.count), progress) }
            // A server that hangs does not keep the run.
            group.addTask { await self.clock.sleep(until: end) }
            await group.next()
            group.cancelAll()
        }
        let opened = progress.opened
        if opened > 0 { self.run.events.serverIsThere() }
        self.run.events.note(
            """
            after connections were lost \(opened) of \(wallets.count) wallets with wrong PINs were opened once more at the \
            end
            """
        )
    }

    private func look(at lanes: Int, _ progress: Progress) async {
        await withDiscardingTaskGroup { group in
            for lane in 0..<lanes {
                group.addTask {
                    var generator = PlanGenerator(seed: self.run.plan.seed, stream: UInt64(lane))
                    while let wallet = progress.takeNext() {
                        guard await self.look(at: wallet, lane, progress, &generator) else { break }
                    }
                }
            }
        }
    }

    /// False where there is no time for others.
    private func look(
        at wallet: Int,
        _ lane: Int,
        _ progress: Progress,
        _ generator: inout PlanGenerator
    ) async -> Bool {
        var backoff = Backoff()
        while !Task.isCancelled {
            // One of no use, or one of an idle session, is nobody's to look at.
            guard self.run.pool.take(exactly: wallet) else { return true }
            do throws(FleetFailure) {
                let session = try await OpenedSession.open(taken: wallet, lane, in: self.run, clock: self.clock)
                progress.succeeds(at: self.clock.now)
                try session.close(in: self.run, clock: self.clock)
                return true
            } catch {
                if error == .refused(.authenticationFailed) {
                    self.run.recorder.recordViolation(
                        "forgotten-wallet: wallet \(wallet) had sessions, and is not known any more"
                    )
                }
                guard error.isTransient else { return !Task.isCancelled }
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
