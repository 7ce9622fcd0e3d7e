internal import HistoryChecker
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// A simulated user that generates the load on one connection by performing operations one after another.
///
/// The user ends when the plan no longer needs it.
///
/// The user runs on one event loop, which all of its connections use, so that neither an unlock nor a check requires a
/// thread switch. This matters because the tool shares the machine with the server.
final class VirtualUser {
    let number: Int
    let run: RunContext
    let lane: Lane
    var generator: PlanGenerator
    var opened: OpenedSession?
    /// The kind of connection that the plan chose for the next check.
    var use = ConnectionUse.warm
    var checksDone = 0
    /// The source of attempt ids, which differs in each run.
    ///
    /// It is separate from the plan's generator, which would generate the same values in the next run with the same
    /// seed. A server that has seen an id before considers the attempt a repetition and does not count it again
    /// (docs/protocol.md).
    private var attempts = PlanGenerator(seed: .random(in: .min ... .max))
    private var wrongVariant: UInt32 = 0
    /// The last connection, if it was lost.
    ///
    /// The next session uses the same wallet, because this shows whether the server forgot counted attempts in a crash.
    var lost: Lost?
    var backoff = Backoff()
    private var lastVerdict: Duration?

    struct Lost {
        let wallet: CheckedWallet
        /// The attempt that got no response.
        ///
        /// The user sends it again, as phones do, and the server judges it only once (docs/protocol.md, G4).
        let attempt: Attempt?
    }

    /// A check that was sent.
    struct Attempt {
        let action: Action
        let attemptID: AttemptID
        let variant: UInt32
        let generation: UInt32
        /// The ids of its first and last operations in the wallet's history.
        var id = 0
        var lastID = 0
    }

    /// - Parameters:
    ///   - life: The number of earlier users with this number. Each makes its own random choices.
    ///   - opened: A session opened before the start.
    init(_ number: Int, life: Int, in run: RunContext, opened: OpenedSession?) {
        self.number = number
        self.run = run
        self.lane = run.lane(of: number)
        self.generator = PlanGenerator(seed: run.plan.ownSeed, stream: UInt64(number) &+ UInt64(life) << 32)
        self.opened = opened
        // A session opened before the start is used first.
        if opened == nil { self.use = run.plan.connectionUse.draw(using: &self.generator) }
    }

    var clock: RunClock { self.run.clock }

    /// Performs operations until the plan, the schedule or the run has no more work for this user.
    func work() async {
        let executor = self.opened?.session.connection.executor ?? EventLoops.executor(self.number)
        await withTaskExecutorPreference(executor) {
            while self.run.gauges.wants(self.number), await self.takeTurn() {}
            self.leave()
        }
    }

    /// Performs an operation when it is due; returns false if no operations are left.
    private func takeTurn() async -> Bool {
        guard let queue = self.run.queue else {
            let think = self.run.plan.think.draw(using: &self.generator)
            if think > .zero { await self.wait(until: self.clock.now + think) }
            guard self.run.gauges.wants(self.number) else { return false }
            await self.operate(due: nil)
            return true
        }
        guard let arrival = queue.take(at: self.clock.now) else { return false }
        await self.wait(until: arrival.due)
        guard !self.run.gauges.isStopping else {
            queue.release(arrival, at: self.clock.now)
            return false
        }
        guard queue.admit(arrival) else { return true }
        await self.operate(due: arrival.due)
        queue.finish()
        return true
    }

    private func wait(until time: Duration) async {
        while !self.run.gauges.isStopping {
            let now = self.clock.now
            guard now < time else { return }
            await EventLoops.pause(for: min(time - now, Self.longestPause))
        }
    }

    /// The interval at which a waiting user checks whether the run is still going.
    private static let longestPause: Duration = .milliseconds(250)

    // MARK: One operation

    private func operate(due: Duration?) async {
        var action = self.run.plan.mix.draw(using: &self.generator)
        if action == .register { return await self.register(due: due) }
        let began = self.clock.now
        if let opened = self.opened, self.clock.start + began > opened.expires { self.leave() }
        let isNew = self.opened == nil
        if isNew { await self.open(action, due: due, began: began) }
        guard let opened = self.opened else { return }
        let again = isNew ? self.takeLost(for: opened) : nil
        if let again {
            action = again.action
            self.run.gauges.repeated.add(1, ordering: .relaxed)
        } else if action == .wrong, !opened.wallet.allowsWrong(atMost: self.run.wrongLimit) {
            action = .right
            self.run.gauges.replaced.add(1, ordering: .relaxed)
        }
        var attempt = again ?? self.nextAttempt(action, opened.session)
        let (prepared, operation) = self.prepare(attempt, opened.session)
        let id = opened.wallet.invokes(operation, repeating: again?.id, at: self.run.serverTime)
        if again == nil { attempt.id = id }
        attempt.lastID = id
        // Do not include the time taken by the checker.
        let sent = self.clock.now
        self.run.gauges.inFlight.add(1, ordering: .relaxed)
        let result = await opened.session.result(of: prepared)
        let ended = self.clock.now
        self.run.gauges.inFlight.subtract(1, ordering: .relaxed)
        let outcome = self.run.check(
            result,
            of: opened.wallet,
            id,
            isWrong: action == .wrong,
            in: opened.session,
            at: ended
        )
        self.record(
            action == .changePIN ? .changePIN : isNew ? .unlock : .check,
            outcome,
            of: action,
            due: due,
            from: isNew ? began : sent,
            to: ended
        )
        if let proof = self.run.proof, !outcome.isFailure {
            if let last = self.lastVerdict { proof.gaps.note(ended - last) }
            self.lastVerdict = ended
        }
        await self.proceed(after: outcome, of: attempt)
    }

    /// Returns the attempt that was lost with the wallet's last connection.
    ///
    /// Returns nil if the PIN was changed or another PIN was entered since then, because the server only remembers the
    /// last attempt.
    private func takeLost(for opened: OpenedSession) -> Attempt? {
        defer { self.lost = nil }
        guard let lost, lost.wallet === opened.wallet, let attempt = lost.attempt,
            attempt.generation == opened.session.generation, opened.wallet.isLastPIN(attempt.lastID)
        else { return nil }
        return attempt
    }

    /// Records an operation.
    ///
    /// An operation that began during the warm-up and ended after it is not reported at all.
    func record(
        _ operation: Operation,
        _ outcome: Outcome,
        of action: Action,
        due: Duration?,
        from start: Duration,
        to end: Duration
    ) {
        let warmup = self.run.schedule.warmup
        guard due ?? start >= warmup || end < warmup else { return }
        self.lane.record(
            Sample(
                operation: operation,
                outcome: outcome,
                latency: end - (due ?? start),
                serviceTime: end - start,
                isExpected: self.isExpected(outcome, of: action)
            )
        )
    }

    private func nextAttempt(_ action: Action, _ session: FleetSession) -> Attempt {
        // Alternate between wrong PINs, because a server may cache the decoded key of the last attempt.
        if action == .wrong { self.wrongVariant = (self.wrongVariant + 1) % 3 }
        return Attempt(
            action: action,
            attemptID: .random(using: &self.attempts),
            variant: self.wrongVariant,
            generation: session.generation
        )
    }

    private func prepare(_ attempt: Attempt, _ session: FleetSession) -> (FleetSession.Prepared, WalletOperation) {
        let generation = Int(session.generation)
        switch attempt.action {
        case .wrong:
            return (
                session.prepareCheck(.wrong(attempt.variant), attemptID: attempt.attemptID),
                .check(isRight: false, generation: generation)
            )
        case .changePIN:
            return (
                session.prepareChange(attemptID: attempt.attemptID),
                .change(isRight: true, generation: generation, to: generation + 1)
            )
        case .right, .register:
            return (
                session.prepareCheck(.right, attemptID: attempt.attemptID),
                .check(isRight: true, generation: generation)
            )
        }
    }

    private func isExpected(_ outcome: Outcome, of action: Action) -> Bool {
        switch action {
        case .right: outcome == .valid
        case .changePIN: outcome == .changed
        case .register: outcome == .registered
        // If a single wallet is being attacked, it is expected to be blocked.
        case .wrong:
            outcome == .wrong || (self.run.sharesWallets && (outcome == .blocked || outcome == .blockedPermanently))
        }
    }

    /// Keeps the session, closes it, or backs off after a failure.
    private func proceed(after outcome: Outcome, of attempt: Attempt) async {
        guard !outcome.isFailure else {
            let isCheck = attempt.action == .right || attempt.action == .wrong
            let isUnanswered = outcome == .timeout || outcome == .failed(FleetFailure.call(.closed).reason)
            // If other users share the wallet, the server may only remember their attempts by now.
            let mayRepeat = isCheck && isUnanswered && !self.run.sharesWallets
            self.lost = self.opened.map { Lost(wallet: $0.wallet, attempt: mayRepeat ? attempt : nil) }
            self.leave()
            return await self.recover()
        }
        self.backoff.reset()
        self.checksDone += 1
        let isBlocked = outcome == .blocked || outcome == .blockedPermanently
        self.use = self.run.plan.connectionUse.draw(using: &self.generator)
        let isEnough = self.use != .warm || self.checksDone >= self.run.plan.checksPerWallet ?? .max
        if isEnough || (isBlocked && !self.run.sharesWallets) { self.leave() }
    }

    func recover() async {
        let pause = self.backoff.nextPause(using: &self.generator)
        await self.wait(until: self.clock.now + pause)
    }
}

extension VirtualUser {
    /// Opens a session for a free wallet.
    ///
    /// Waits for one if necessary. A failure is recorded as the outcome of the action.
    func open(_ action: Action, due: Duration?, began: Duration) async {
        do throws(FleetFailure) {
            while true {
                self.opened = try await OpenedSession.open(
                    self.number,
                    wallet: self.lost?.wallet.wallet.index,
                    resuming: self.use == .resumed,
                    in: self.run,
                    using: &self.generator
                )
                if self.opened != nil { break }
                self.run.events.note("more connections than free wallets: some connections had to wait for a wallet")
                await self.recover()
                // Count the check as unsent if it was due.
                guard !self.run.gauges.isStopping else {
                    if due != nil { self.run.recorder.recordUnsent(1) }
                    return
                }
            }
            self.checksDone = 0
            if self.opened?.session.isResumed == true { self.run.gauges.resumed.add(1, ordering: .relaxed) }
        } catch {
            if !error.isTransient { self.lost = nil }
            let operation: Operation = action == .changePIN ? .changePIN : .unlock
            self.record(operation, self.run.outcome(of: error), of: action, due: due, from: began, to: self.clock.now)
            await self.recover()
        }
    }

    func leave() {
        guard let opened = self.opened else { return }
        self.opened = nil
        do throws(FleetFailure) { try opened.close(in: self.run) } catch { _ = self.run.outcome(of: error) }
    }

    func register(due: Duration?) async {
        guard let registrar = self.run.registrar else { return }
        let began = self.clock.now
        let outcome: Outcome
        do throws(FleetFailure) {
            try await self.registerNew(by: registrar)
            outcome = .registered
        } catch {
            outcome = self.run.outcome(of: error)
        }
        self.record(.register, outcome, of: .register, due: due, from: began, to: self.clock.now)
        if outcome.isFailure { await self.recover() } else { self.backoff.reset() }
    }

    /// Registers a wallet and discards it, because only the server's work matters.
    private func registerNew(by registrar: Registrar) async throws(FleetFailure) {
        let timeout = self.run.plan.timeout
        let connection = try await self.run.connect(self.number)
        defer { connection.close() }
        try await Registrar.greet(connection, timeout: timeout)
        let platform: Platform = self.generator.next(below: 10) < 3 ? .iOS : .android
        _ = try await registrar.register(platform, on: connection, timeout: timeout)
    }
}

/// An open session for a wallet that was taken from the pool.
///
/// All responses are checked, starting with the first one.
struct OpenedSession: Sendable {
    let session: FleetSession
    let wallet: CheckedWallet
    /// A time shortly before the server ends the session because of its age.
    let expires: ContinuousClock.Instant

    /// Takes a wallet from the pool, connects, and opens a session; returns nil if all wallets are in use.
    ///
    /// On failure, the wallet is returned to the pool.
    /// - Parameter wanted: The wallet to take if it is free.
    static func open(
        _ number: Int,
        wallet wanted: Int? = nil,
        resuming: Bool = false,
        in run: RunContext,
        using generator: inout PlanGenerator
    ) async throws(FleetFailure) -> OpenedSession? {
        guard let index = run.pool.take(wanted, using: &generator) else { return nil }
        return try await self.open(taken: index, number, resuming: resuming, in: run)
    }

    /// Opens a session for a wallet that has already been taken.
    static func open(
        taken index: Int,
        _ number: Int,
        resuming: Bool = false,
        in run: RunContext
    ) async throws(FleetFailure) -> OpenedSession {
        let wallet: CheckedWallet
        do throws(FleetFailure) {
            wallet = try run.histories.open(index)
        } catch {
            run.pool.release(index)
            throw error
        }
        do throws(FleetFailure) {
            let session = try await run.openSession(of: wallet, number, resuming: resuming)
            run.gauges.connections.add(1, ordering: .relaxed)
            return OpenedSession(
                session: session,
                wallet: wallet,
                expires: .now + session.terms.limits.sessionLifetime * 0.9
            )
        } catch {
            try run.histories.close(wallet, at: run.serverTime)
            if error.concernsOnlyThisWallet, !run.sharesWallets {
                // Do not return the wallet to the pool, so that it is not drawn again.
                run.excludes(wallet.wallet, for: error)
            } else {
                run.pool.release(index)
            }
            throw error
        }
    }

    /// Closes the session and returns the wallet to the pool.
    func close(in run: RunContext) throws(FleetFailure) {
        self.session.close()
        run.gauges.connections.subtract(1, ordering: .relaxed)
        try run.histories.close(self.wallet, at: run.serverTime)
        run.pool.release(self.wallet.wallet.index)
    }
}
