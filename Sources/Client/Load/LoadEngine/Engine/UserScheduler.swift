internal import Synchronization
internal import Wire

/// Starts users according to the plan and waits for all of them at the end.
final class UserScheduler: Sendable {
    /// The interval at which the number of users is updated from the plan.
    private static let step: Duration = .milliseconds(50)
    /// The maximum wait for outstanding responses if a run ends early.
    private static let grace: Duration = .seconds(1)

    private let run: RunContext
    private let slots: Mutex<[Slot]>

    /// The state for one user number.
    private struct Slot {
        var isTaken = false
        /// The number of users that have had this number.
        var lives = 0
    }

    init(_ run: RunContext) {
        self.run = run
        self.slots = Mutex(Array(repeating: Slot(), count: run.plan.peakUsers))
    }

    /// Returns once the last user has ended.
    func run(starting opened: [OpenedSession]) async {
        await withTaskGroup { group in
            group.addTask { await self.follow(opened) }
            group.addTask {
                await self.run.events.ends()
                self.run.gauges.stop()
                await self.run.clock.sleep(until: self.run.clock.now + Self.grace)
            }
            _ = await group.next()
            group.cancelAll()
            await group.waitForAll()
        }
    }

    private func follow(_ opened: [OpenedSession]) async {
        var opened = opened
        let end = self.run.schedule.duration
        await withDiscardingTaskGroup { users in
            while !self.run.gauges.isStopping, !Task.isCancelled {
                let now = self.run.clock.now
                guard now < end else { break }
                let wanted = self.run.usersWanted(at: now)
                self.run.gauges.wanted.store(wanted, ordering: .relaxed)
                for (number, life) in self.takeSlots(below: wanted) {
                    let session = opened.isEmpty ? nil : opened.removeLast()
                    users.addTask {
                        await VirtualUser(number, life: life, in: self.run, opened: session).work()
                        self.slots.withLock { $0[number].isTaken = false }
                    }
                }
                await self.run.clock.sleep(until: min(end, now + Self.step))
            }
            for session in opened { try? session.close(in: self.run) }
            // In an open loop, checks that are already due are still sent. The users end when no checks are left.
            if self.run.queue == nil { self.run.gauges.stop() } else { await self.drain() }
        }
        if self.run.events.endReason == nil, self.run.events.mayHaveCrashed {
            await FinalCheck(run: self.run).run()
        }
    }

    /// Sends the waiting checks for as long as a single call may take.
    private func drain() async {
        let end = self.run.schedule.duration + self.run.plan.timeout
        while !self.run.gauges.isStopping, !Task.isCancelled, self.run.clock.now < end {
            guard let queue = self.run.queue, !queue.isIdle(at: self.run.clock.now) else { break }
            await self.run.clock.sleep(until: self.run.clock.now + Self.step)
        }
        self.run.gauges.stop()
    }

    private func takeSlots(below wanted: Int) -> [(number: Int, life: Int)] {
        self.slots.withLock { slots in
            let numbers = (0..<min(wanted, slots.count)).filter { !slots[$0].isTaken }
            return numbers.map { number in
                defer { slots[number] = Slot(isTaken: true, lives: slots[number].lives + 1) }
                return (number, slots[number].lives)
            }
        }
    }
}

/// Reopens wallets at the end of a run if a crash may have made the server forget counted attempts.
///
/// The state returned when a session is opened is checked like any other response. A virtual user that loses its
/// connection reopens its own wallet. The final check opens every other wallet with counted wrong PINs, most recently
/// used first.
struct FinalCheck {
    let run: RunContext

    private static let limit: Duration = .seconds(10)
    /// The time to wait before giving up if not a single session could be opened.
    private static let patience: Duration = .seconds(3)

    private final class Progress: Sendable {
        /// The number of opened sessions, and the time of the last one or of the start.
        let state: Mutex<(opened: Int, lastSuccess: Duration)>

        init(at now: Duration) { self.state = Mutex((0, now)) }
    }

    /// Thrown when the time is up, so that no further wallet is opened.
    private struct TimeIsUp: Error {}

    /// Opens the wallets and adds their number to the report.
    func run() async {
        let wallets = self.run.histories.withCounts
        guard !wallets.isEmpty else { return }
        let end = self.run.clock.now + Self.limit
        let progress = Progress(at: self.run.clock.now)
        await withTaskGroup { group in
            group.addTask {
                _ = await concurrently(wallets.count) { number throws(TimeIsUp) in
                    try await self.open(wallets[number], number, progress)
                }
            }
            // A server that does not respond must not delay the end of the run.
            group.addTask { await self.run.clock.sleep(until: end) }
            await group.next()
            group.cancelAll()
        }
        let opened = progress.state.withLock(\.opened)
        if opened > 0 { self.run.events.serverResponded() }
        self.run.events.note(
            "after lost connections, \(opened) of \(wallets.count) wallets with wrong PINs were opened again at the end"
        )
    }

    private func open(_ wallet: Int, _ number: Int, _ progress: Progress) async throws(TimeIsUp) {
        var generator = PlanGenerator(seed: self.run.plan.ownSeed, stream: UInt64(number))
        var backoff = Backoff()
        while !Task.isCancelled {
            // Skip wallets that are excluded or belong to an idle session.
            guard self.run.pool.take(exactly: wallet) else { return }
            do throws(FleetFailure) {
                let session = try await OpenedSession.open(taken: wallet, number, in: self.run)
                progress.state.withLock { $0 = ($0.opened + 1, self.run.clock.now) }
                return try session.close(in: self.run)
            } catch {
                if error == .refused(.authenticationFailed) {
                    self.run.recorder.recordViolation(
                        "forgotten-wallet: wallet \(wallet) had sessions, and the server no longer knows it"
                    )
                }
                guard error.isTransient else { return }
                guard self.run.clock.now < progress.state.withLock(\.lastSuccess) + Self.patience else {
                    throw TimeIsUp()
                }
                await self.run.clock.sleep(until: self.run.clock.now + backoff.nextPause(using: &generator))
            }
        }
        throw TimeIsUp()
    }
}
