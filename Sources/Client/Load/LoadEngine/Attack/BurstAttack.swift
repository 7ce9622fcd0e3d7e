internal import LabFiles
package import LoadFleet
internal import LoadPlan
package import LoadReport
internal import Vocabulary
internal import Wire

/// Sends many guesses for one wallet's PIN at once, one of them right, and repeats this with other wallets.
///
/// This tests the promise that the server does not judge more guesses in parallel than one by one. Wallets blocked by a
/// burst are used again when their blocks end. In a lab, the clock is advanced past the block immediately.
package struct BurstAttack: Sendable {
    private let plan: BurstPlan
    private let fleet: Fleet
    private let target: Target
    private let events: RunEvents
    /// The number of retries if the server refuses for a transient reason.
    var maxRetries = 50

    /// The progress of an attack.
    package struct Progress: Sendable {
        package let bursts: Int
        package let of: Int
        package let statistics: BurstStatistics
        /// The time since the start.
        package let elapsed: Duration
        /// The totals of all responses so far.
        package let totals: Totals

        /// The estimated time for the remaining bursts.
        package var left: Duration {
            self.bursts == 0 ? .zero : self.elapsed / self.bursts * (self.of - self.bursts)
        }
    }

    /// - Parameter events: Receives the attack's events and can end the attack.
    package init(_ plan: BurstPlan, of fleet: Fleet, at target: Target, events: RunEvents) {
        self.plan = plan
        self.fleet = fleet
        self.target = target
        self.events = events
    }

    /// Runs the attack until the end of its plan or until it is ended early.
    ///
    /// Returns the measurements so far.
    ///
    /// - Parameter onProgress: Called about once a second.
    package func run(onProgress: @escaping @Sendable (Progress) -> Void) async throws(RunError) -> MeasuredRun {
        do { return try await self.measure(onProgress) } catch { throw RunError(error, at: self.target) }
    }

    private func measure(_ onProgress: @escaping @Sendable (Progress) -> Void) async throws -> MeasuredRun {
        let loadPlan = try self.plan.loadPlan()
        try ConnectionLimits.prepare(for: loadPlan)
        var run = try await RunContext(loadPlan, self.fleet, at: [self.target], events: self.events)
        try self.check(run.terms)
        var generator = PlanGenerator(seed: self.plan.seed)
        var queue = AttackQueue(count: self.fleet.count, using: &generator)
        var statistics = BurstStatistics(size: self.plan.size, attempts: run.policy.attemptsPerRound)
        run.clock = RunClock(wall: self.target.clock.now())
        let start = run.clock.wall(at: .zero)
        self.events.begin(run.clock)
        var log = IntervalCollector(recorder: run.recorder, connections: self.plan.connections)
        for number in 0..<self.plan.repetitions where self.events.endReason == nil {
            do {
                guard let result = try await self.burst(&run, &queue, &generator) else { break }
                statistics.add(result)
            } catch {
                log.take(at: run.clock.now, isLast: true)
                // Report the measurements so far and, most importantly, the violations.
                let error = RunError(error, at: self.target)
                guard statistics.hasBursts || log.totals.violations.count > 0, error.isOfServer else { throw error }
                self.events.note("the attack ended early: \(error)")
                self.events.end(.lost)
                break
            }
            guard log.take(at: run.clock.now, isLast: number == self.plan.repetitions - 1) else { continue }
            onProgress(
                Progress(
                    bursts: number + 1,
                    of: self.plan.repetitions,
                    statistics: statistics,
                    elapsed: run.clock.now,
                    totals: log.totals
                )
            )
        }
        log.take(at: run.clock.now, isLast: true)
        run.clock = run.clock.synchronized(with: self.target.clock.now())
        try run.finish()
        if queue.advanced > .zero {
            self.events.note("the lab's clock was advanced by \(queue.advanced), past the blocks")
        }
        if statistics.hasBursts { self.noteBlocks(under: run.policy) }
        self.events.add(statistics.section(self.plan))
        return self.events.measured(
            log.intervals,
            from: start,
            end: statistics.hasBursts ? .completed : .lost
        )
    }

    private func check(_ terms: ServerTerms) throws(PlanProblem) {
        let (wanted, most) = (self.plan.mostOnOneConnection, terms.limits.maxInFlight)
        guard wanted > most else { return }
        throw PlanProblem(
            place: "--attack",
            "\(wanted) calls at a time on one connection exceed the server's limit of \(most); use more connections"
        )
    }

    /// Sends a burst for the next wallet that can be attacked.
    ///
    /// Returns nil if there are none left.
    private func burst(
        _ run: inout RunContext,
        _ queue: inout AttackQueue,
        _ generator: inout PlanGenerator
    ) async throws -> BurstResult? {
        var failures = 0
        while self.events.endReason == nil, let index = try await self.next(&queue) {
            do throws(FleetFailure) {
                // The lab's clock may have been advanced since the last burst.
                run.clock = run.clock.synchronized(with: self.target.clock.now())
                let wallet = try run.histories.open(index)
                let context = run
                defer {
                    do throws(FleetFailure) {
                        try context.histories.close(wallet, at: context.serverTime)
                    } catch {
                        _ = context.outcome(of: error)
                    }
                }
                let burst = Burst(run: run, plan: self.plan, wallet: wallet)
                switch try await burst.prepare() {
                case .never: continue
                case .blocked(let remaining):
                    queue.append(index, blockedUntil: run.serverTime + remaining)
                    continue
                case .ready(let session):
                    let result = try await burst.send(from: session, using: &generator)
                    queue.append(index)
                    return result
                }
            } catch {
                guard self.events.endReason == nil else { return nil }
                if case .revoked = error {
                    self.events.note("revoked wallets were left out")
                    continue
                }
                failures += 1
                guard error.isTransient, failures <= self.maxRetries else { throw error }
                queue.append(index)
                await run.clock.sleep(until: run.clock.now + .milliseconds(200))
            }
        }
        return nil
    }

    /// Returns the next wallet.
    ///
    /// If all of them are blocked, advances a lab's clock past the blocks.
    private func next(_ queue: inout AttackQueue) async throws -> Int? {
        if let index = queue.take() { return index }
        guard let end = queue.lastEnd else {
            self.events.note("no wallet is left to attack: all are blocked permanently or revoked")
            return nil
        }
        guard let lab = self.target.lab else {
            self.events.note("all wallets are in a block; a fleet with more wallets allows more bursts")
            return nil
        }
        let duration = end - self.target.clock.now() + .seconds(1)
        if duration > .zero { try await LabTime.advance(lab, by: duration, at: self.target) }
        queue.release(after: max(.zero, duration))
        return queue.take()
    }

    /// Notes any blocks that would affect the next run with these wallets.
    private func noteBlocks(under policy: AttemptPolicy) {
        guard self.plan.size > policy.attemptsPerRound, let block = policy.blocks.first, block > .zero else { return }
        let seconds = (block.milliseconds + 1999) / 1000
        let remedy =
            self.target.lab.map { "run `remote-pin-server admin clock advance \(seconds)s --lab \($0.path)`" }
            ?? "wait for \(seconds) seconds"
        self.events.note(
            "the wallets attacked last are in a block: \(remedy) before the next run, or use another fleet"
        )
    }
}

extension RunError {
    /// Whether the error was caused by the server and not by this machine.
    fileprivate var isOfServer: Bool {
        switch self {
        case .server, .target: true
        case .plan, .fleet, .interrupted: false
        }
    }
}
