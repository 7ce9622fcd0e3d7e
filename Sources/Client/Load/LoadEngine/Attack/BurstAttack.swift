package import LoadFleet
internal import Lab
internal import LoadPlan
package import LoadReport
internal import HistoryChecker
internal import Vocabulary
internal import Wire

/// Guesses one wallet's PIN many times at once, one guess right, and again with the next wallet.
///
/// What is measured is a promise: a burst of parallel guesses gets no more of them judged than guesses one after the
/// other. Wallets that a burst has blocked come back when their block is over, which in a lab is at once: its clock is
/// moved.
package struct BurstAttack: Sendable {
    private let plan: BurstPlan
    private let fleet: Fleet
    private let target: Target
    private let events: RunEvents
    /// Attempts to reach a server that refuses for a passing reason.
    var patience = 50

    /// How far an attack is.
    package struct Progress: Sendable {
        package let bursts: Int
        package let of: Int
        package let statistics: BurstStatistics
        /// Since the beginning.
        package let elapsed: Duration
        /// All that was answered until now, and what went wrong.
        package let totals: Totals

        /// What the others will take, if they take as long as those until now.
        package var left: Duration {
            self.bursts == 0 ? .zero : self.elapsed / self.bursts * (self.of - self.bursts)
        }
    }

    /// - Parameter events: where it is told of what happens to it, and where it is ended.
    package init(_ plan: BurstPlan, of fleet: Fleet, at target: Target, events: RunEvents) {
        self.plan = plan
        self.fleet = fleet
        self.target = target
        self.events = events
    }

    /// Attacks to the end of the plan, or until it is ended earlier; what was measured until then is returned.
    ///
    /// - Parameter hear: called about once a second.
    package func run(hear: @escaping @Sendable (Progress) -> Void) async throws(RunError) -> MeasuredRun {
        let loadPlan: LoadPlan
        do throws(PlanProblem) {
            loadPlan = try self.plan.loadPlan()
            try ConnectionLimits.prepare(for: loadPlan)
        } catch {
            throw .plan(PlanError([error]))
        }
        let terms = try await RunSetup.terms(of: self.fleet, at: self.target, loadPlan)
        try self.check(terms)
        let context = try RunContext(loadPlan, self.fleet, at: self.target, terms: terms, events: self.events)
        var generator = PlanGenerator(seed: self.plan.seed)
        var wallets = AttackQueue(count: self.fleet.count, using: &generator)
        var statistics = BurstStatistics(size: self.plan.size, attempts: terms.policy.attemptsPerRound)
        let clock = RunClock(wall: self.target.clock.now())
        self.events.begin(clock)
        var log = IntervalCollector(recorder: context.recorder, connections: self.plan.connections)
        for number in 0..<self.plan.repetitions where self.events.endReason == nil {
            let result: BurstResult?
            do throws(RunError) {
                result = try await self.burst(context, &wallets, &generator, clock)
            } catch {
                _ = log.take(at: clock.now, isLast: true)
                // What was measured until then is told, and what was found above all.
                guard statistics.hasBursts || log.totals.violations.count > 0, error.isOfServer else { throw error }
                self.events.note("the attack could not go on: \(error)")
                self.events.end(.lost)
                break
            }
            guard let result else { break }
            statistics.add(result)
            guard log.take(at: clock.now, isLast: number == self.plan.repetitions - 1) else { continue }
            hear(
                Progress(
                    bursts: number + 1,
                    of: self.plan.repetitions,
                    statistics: statistics,
                    elapsed: clock.now,
                    totals: log.totals
                )
            )
        }
        _ = log.take(at: clock.now, isLast: true)
        return try self.finish(context, statistics, wallets, log.intervals, clock)
    }

    private func check(_ terms: ServerTerms) throws(RunError) {
        let most = terms.limits.maxInFlight
        guard self.plan.mostOnOneConnection > most else { return }
        throw .plan(
            PlanError([
                PlanProblem(
                    place: "--attack",
                    "the server takes \(most) calls at a time on one connection, and this would be "
                        + "\(self.plan.mostOnOneConnection); use more connections"
                )
            ])
        )
    }

    /// One burst against the next wallet that can be attacked; nil where there is none any more.
    private func burst(
        _ context: RunContext,
        _ wallets: inout AttackQueue,
        _ generator: inout PlanGenerator,
        _ time: RunClock
    ) async throws(RunError) -> BurstResult? {
        var failures = 0
        while self.events.endReason == nil, let index = try await self.next(&wallets) {
            do throws(FleetFailure) {
                // A lab's clock may have been moved since the last.
                let clock = RunClock(startingAt: time.start, wall: self.target.clock.now() + (.zero - time.now))
                let wallet = try context.openForAttack(index)
                defer { context.closeAfterAttack(wallet, at: clock.wall(at: clock.now)) }
                let burst = Burst(run: context, plan: self.plan, clock: clock, wallet: wallet)
                switch try await burst.prepare() {
                case .never: continue
                case .blocked(let remaining):
                    wallets.isBlocked(index, until: clock.wall(at: clock.now) + remaining)
                    continue
                case .ready(let session):
                    let result = try await burst.send(from: session, using: &generator)
                    wallets.attacked(index)
                    return result
                }
            } catch {
                guard self.events.endReason == nil else { return nil }
                switch error {
                case .revoked:
                    self.events.note("wallets that are revoked were left out")
                    continue
                case .fleet(let error): throw .fleet(error)
                case .connect, .call, .refused, .falseShare, .strangePINKey, .unexpectedAnswer: break
                }
                failures += 1
                guard error.isTransient, failures <= self.patience else {
                    throw .server(error, address: self.target.address)
                }
                wallets.isFree(index)
                await time.sleep(until: time.now + .milliseconds(200))
            }
        }
        return nil
    }

    /// The next wallet; where all are blocked, a lab's clock is moved past the blocks.
    private func next(_ wallets: inout AttackQueue) async throws(RunError) -> Int? {
        if let index = wallets.take() { return index }
        guard let end = wallets.lastEnd else {
            self.events.note("no wallet is left that can be attacked: all are blocked for good, or revoked")
            return nil
        }
        guard let lab = self.target.lab else {
            self.events.note("all wallets are in a block; with more wallets there are more bursts")
            return nil
        }
        let duration = end - self.target.clock.now() + .seconds(1)
        if duration > .zero { try await LabTime.advance(lab, by: duration, at: self.target) }
        wallets.release(after: max(.zero, duration))
        return wallets.take()
    }

    private func finish(
        _ context: RunContext,
        _ statistics: BurstStatistics,
        _ wallets: AttackQueue,
        _ intervals: [Interval],
        _ clock: RunClock
    ) throws(RunError) -> MeasuredRun {
        do throws(FleetError) {
            let now = self.target.clock.now()
            let forgotten = try context.histories.closeAll(at: now)
            if forgotten > 0 {
                self.events.note("\(forgotten) times more was on its way for one wallet than the judge could follow")
            }
            try self.fleet.flush()
        } catch {
            throw .fleet(error)
        }
        if let failure = self.events.failure { throw failure }
        if wallets.advanced > .zero {
            self.events.note("the lab's clock was moved on by \(wallets.advanced), past the blocks")
        }
        if statistics.hasBursts { self.noteBlocks(under: context.policy) }
        self.events.add(statistics.section(self.plan))
        let told = self.events.told
        return MeasuredRun(
            start: clock.wall(at: .zero),
            intervals: intervals,
            end: self.events.endReason ?? (statistics.hasBursts ? .completed : .lost),
            markers: told.markers,
            sections: told.sections,
            notes: told.notes
        )
    }

    /// The next run on these wallets would be told `blocked` and could not know why.
    private func noteBlocks(under policy: AttemptPolicy) {
        guard self.plan.size > policy.attemptsPerRound, let block = policy.blocks.first, block > .zero else { return }
        let seconds = (block.milliseconds + 1999) / 1000
        let wayOut =
            self.target.lab.map { "give `remote-pin-server admin clock advance \(seconds)s --lab \($0.path)`" }
            ?? "wait for \(seconds) seconds"
        self.events.note("wallets attacked last are in a block: \(wayOut) before the next run, or take another file")
    }
}

extension RunError {
    /// Whether it is the server that cannot be worked with any more, and nothing of this machine's.
    fileprivate var isOfServer: Bool {
        switch self {
        case .server, .target: true
        case .plan, .fleet, .interrupted: false
        }
    }
}
