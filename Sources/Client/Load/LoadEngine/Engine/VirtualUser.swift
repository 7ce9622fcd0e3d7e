internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Secrets
internal import Synchronization
internal import Transport
internal import HistoryChecker
internal import Vocabulary
internal import Wire

/// One connection's worth of load: does one thing after the other until the plan wants it no more.
///
/// While a session is open it runs on the connection's own event loop, so that a check costs no change of thread: the
/// tool shares the machine with the server.
final class VirtualUser {
    let number: Int
    let run: RunContext
    let clock: RunClock
    let lane: Lane
    var generator: PlanGenerator
    var opened: OpenedSession?
    /// What the next check is made on, as the plan drew it.
    var use = ConnectionUse.warm
    var checksDone = 0
    /// What attempt ids are drawn from, another in each run.
    ///
    /// Not the plan's: a server takes an id that it has seen for a repetition and does not count it again (docs/protocol.md), in
    /// the next run of the same seed as well.
    private var attempts = PlanGenerator(seed: .random(in: .min ... .max))
    private var wrongVariant: UInt32 = 0
    /// What a lost connection was about: the next session is the same wallet's, for what a crash had the server forget is seen
    /// there.
    var lost: Lost?

    struct Lost {
        let wallet: CheckedWallet
        /// What had no answer, to be sent again as phones do: the server judges it once, whether it had before or not (G4).
        let attempt: Attempt?
    }

    /// A check as it was sent.
    struct Attempt {
        let action: Action
        let attemptID: AttemptID
        let variant: UInt32
        let generation: UInt32
        /// Its number in the wallet's history, and that of the last time that it was sent.
        var id = 0
        var lastID = 0
    }
    var backoff = Backoff()

    /// - Parameters:
    ///   - life: How many had this number before; each draws its own choices.
    ///   - opened: a session that was made ready before the start.
    init(_ number: Int, life: Int, in run: RunContext, clock: RunClock, opened: OpenedSession?) {
        self.number = number
        self.run = run
        self.clock = clock
        self.lane = run.lane(of: number)
        self.generator = PlanGenerator(seed: run.plan.seed, stream: UInt64(number) &+ UInt64(life) << 32)
        self.opened = opened
        // A session that was made ready is used.
        if opened == nil { self.use = run.plan.connectionUse.draw(using: &self.generator) }
    }

    /// Works until the plan, the schedule or the run has no more for it.
    func work() async {
        while self.run.gauges.wants(self.number) {
            let isDone: Bool
            if let opened = self.opened {
                isDone = await withTaskExecutorPreference(opened.session.connection.executor) {
                    await self.serve(on: opened.session.connection)
                }
            } else {
                isDone = await self.serve(on: nil)
            }
            if isDone { break }
        }
        self.leave()
    }

    /// Does one thing after the other while the session stays the same; true when there is nothing more to do.
    private func serve(on connection: ClientConnection?) async -> Bool {
        repeat {
            guard self.run.gauges.wants(self.number) else { return true }
            if let queue = self.run.queue {
                guard let turn = queue.take(at: self.clock.now) else { return true }
                await self.wait(until: turn.due, on: connection)
                guard !self.run.gauges.isStopping else {
                    queue.giveBack(turn, at: self.clock.now)
                    return true
                }
                guard queue.admit(turn) else { continue }
                await self.operate(due: turn.due)
                queue.finish()
            } else {
                let think = self.run.plan.think.draw(using: &self.generator)
                if think > .zero { await self.wait(until: self.clock.now + think, on: connection) }
                guard self.run.gauges.wants(self.number) else { return true }
                await self.operate(due: nil)
            }
        } while connection === self.opened?.session.connection
        return false
    }

    /// On a timer of the connection's own event loop where there is one: no other thread wakes for it.
    private func wait(until time: Duration, on connection: ClientConnection?) async {
        while !self.run.gauges.isStopping {
            let now = self.clock.now
            guard now < time else { return }
            let pause = min(time - now, Self.longestPause)
            if let connection { await connection.pause(for: pause) } else { await self.clock.sleep(until: now + pause) }
        }
    }

    /// After which a user that waits looks whether the run goes on.
    private static let longestPause: Duration = .milliseconds(250)

    // MARK: One thing

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
            self.run.gauges.spared.add(1, ordering: .relaxed)
        }
        let operation: Operation = action == .changePIN ? .changePIN : isNew ? .unlock : .check
        var attempt = again ?? self.nextAttempt(action, opened.session)
        let (prepared, message) = self.prepare(attempt, opened.session)
        let id = opened.wallet.sends(message, repeating: again?.id, at: self.clock.wall(at: self.clock.now))
        if again == nil { attempt.id = id }
        attempt.lastID = id
        // The judge's own time is not the server's.
        let sent = self.clock.now
        self.run.gauges.inFlight.add(1, ordering: .relaxed)
        let result: Result<InstructResult, FleetFailure>
        do throws(FleetFailure) {
            result = .success(try await opened.session.send(prepared))
        } catch {
            result = .failure(error)
        }
        let ended = self.clock.now
        self.run.gauges.inFlight.subtract(1, ordering: .relaxed)
        let start = isNew ? began : sent
        let outcome = self.judge(result, action, opened, id, at: ended)
        self.record(operation, outcome, of: action, due: due, from: start, to: ended)
        await self.goOn(after: outcome, of: attempt)
    }

    /// What the wallet's last connection was lost with, where its PIN is the same one still and none was entered since: a server
    /// knows the last attempt alone.
    private func takeLost(for opened: OpenedSession) -> Attempt? {
        defer { self.lost = nil }
        guard let lost, lost.wallet === opened.wallet, let attempt = lost.attempt,
            attempt.generation == opened.session.generation, opened.wallet.isLastEntry(attempt.lastID)
        else { return nil }
        return attempt
    }

    /// Counts and times one operation, unless it began in the warm-up and ended after it: that is in no figure.
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
                operation,
                outcome,
                latency: end - (due ?? start),
                serviceTime: end - start,
                isExpected: self.isExpected(outcome, of: action)
            )
        )
    }

    private func nextAttempt(_ action: Action, _ session: FleetSession) -> Attempt {
        // In turn: a server that has decoded the last one's key decodes the next one's.
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

    /// Holds the answer against what is possible.
    private func judge(
        _ result: Result<InstructResult, FleetFailure>,
        _ action: Action,
        _ opened: OpenedSession,
        _ id: Int,
        at ended: Duration
    ) -> Outcome {
        switch result {
        case .success(let answer):
            guard let verdict = answer.verdict else {
                self.run.violated(.answerToAnotherQuestion, opened.wallet.wallet, at: ended)
                opened.wallet.loses(id, isWrong: action == .wrong, at: self.clock.wall(at: ended))
                return answer.outcome
            }
            if case .wrong = verdict { self.run.events.ambush.spring() }
            let violation = opened.wallet.answers(.verdict(verdict), to: id, at: self.clock.wall(at: ended))
            if let violation { self.run.violated(violation, opened.wallet.wallet, at: ended) }
            return answer.outcome
        case .failure(let failure):
            self.run.judge(
                failure,
                of: opened.wallet,
                id,
                isWrong: action == .wrong,
                generation: opened.session.generation,
                at: ended,
                clock: self.clock
            )
            return self.outcome(of: failure)
        }
    }

    func outcome(of failure: FleetFailure) -> Outcome {
        if case .fleet(let error) = failure { self.run.events.end(.aborted, failure: .fleet(error)) }
        if failure == .call(.closed) { self.run.events.connectionWasLost() }
        if case .refused(.rateLimited) = failure { self.run.gauges.limited.add(1, ordering: .relaxed) }
        // Nothing else takes an answer away.
        return failure == .call(.cancelled) ? .interrupted : .failed(failure.reason)
    }

    /// Whether the answer is the one for which this was sent.
    private func isExpected(_ outcome: Outcome, of action: Action) -> Bool {
        switch action {
        case .right: outcome == .valid
        case .changePIN: outcome == .changed
        case .register: outcome == .registered
        // Whoever attacks a single wallet expects its blocks.
        case .wrong:
            outcome == .wrong || (self.run.sharesWallets && (outcome == .blocked || outcome == .blockedPermanently))
        }
    }

    /// Stays with the session, moves on, or waits after a failure.
    private func goOn(after outcome: Outcome, of attempt: Attempt) async {
        guard !outcome.isFailure else {
            let isCheck = attempt.action == .right || attempt.action == .wrong
            // Where others use the wallet as well, its server remembers their attempts by now.
            let isUnanswered = outcome == .timeout || outcome == .failed(FleetFailure.call(.closed).reason)
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
        let pause = self.backoff.grow(using: &self.generator)
        await self.wait(until: self.clock.now + pause, on: nil)
    }
}
