package import LoadFleet
package import LoadPlan
package import LoadReport
internal import Synchronization
internal import Vocabulary

/// One run: what was planned, done to a server with a fleet's wallets.
package struct LoadRun: Sendable {
    /// What a run watches beside its load.
    package struct Options: Sendable {
        package var thresholds: [Threshold] = []
        /// Ends the run when a threshold cannot hold any more, or has not for some seconds.
        package var abortsOnFail = false
        /// The server's process on this machine; nil where it is not known.
        package var serverPID: Int32?
        /// What happens beside the load, from its start to its end: each is cancelled then.
        package var companions: [@Sendable (RunEvents) async -> Void] = []

        package init() {}
    }

    let plan: LoadPlan
    let fleet: Fleet
    let target: Target
    let options: Options
    let events: RunEvents

    /// - Parameter events: where the run is told of what happens to it, and where it is ended.
    package init(_ plan: LoadPlan, of fleet: Fleet, at target: Target, options: Options, events: RunEvents) {
        self.plan = plan
        self.fleet = fleet
        self.target = target
        self.options = options
        self.events = events
    }

    /// Runs to the end of the plan, or until it is ended earlier; what was measured until then is returned.
    ///
    /// - Parameter hear: called about once a second, and while sessions are opened.
    package func run(hear: @escaping @Sendable (LoadProgress) -> Void) async throws(RunError) -> MeasuredRun {
        try self.check()
        let terms = try await RunSetup.terms(of: self.fleet, at: self.target, self.plan)
        let context = try RunContext(self.plan, self.fleet, at: self.target, terms: terms, events: self.events)
        let preparation = RunSetup(run: context, clock: RunClock(wall: self.target.clock.now()))
        let wanted = self.plan.connectionUse.contains(.warm) ? context.usersWanted(at: .zero) : 0
        let all = wanted + self.plan.idleConnections
        let opened = try await preparation.open(wanted, first: 0) { hear(.opening($0, of: all)) }
        let idle: [OpenedSession]
        do throws(RunError) {
            idle = try await preparation.open(self.plan.idleConnections, first: wanted) {
                hear(.opening(wanted + $0, of: all))
            }
        } catch {
            for session in opened { try? session.close(in: context, clock: preparation.clock) }
            throw error
        }
        let clock = preparation.clock.restarted()
        self.events.begin(clock)
        if let pid = self.options.serverPID { self.events.serverStarted(pid: pid) }
        let monitor = Monitor(context, clock: clock, options: self.options, idle: idle, hear: hear)
        let intervals = await self.drive(context, clock, opened, monitor)
        return try self.finish(context, clock, idle, intervals)
    }

    private func check() throws(RunError) {
        var problems = self.plan.problems
        if !self.plan.pick.sharesWallets, self.fleet.count < self.plan.peakConnections {
            problems.append(RunSetup.tooFewWallets(self.fleet.count))
        }
        guard problems.isEmpty else { throw .plan(PlanError(problems)) }
        do throws(PlanProblem) { try ConnectionLimits.prepare(for: self.plan) } catch {
            throw .plan(PlanError([error]))
        }
    }

    /// Without an answer for so long at the plan's end the server is lost.
    private static let silence: Duration = .seconds(2)

    private enum Part {
        case users
        case monitor([Interval])
        case companion
    }

    /// The load, its monitor and its companions, until the load has ended.
    private func drive(
        _ context: RunContext,
        _ clock: RunClock,
        _ opened: [OpenedSession],
        _ monitor: Monitor
    ) async -> [Interval] {
        await withTaskGroup(of: Part.self) { group in
            group.addTask {
                await Users(context, clock: clock).run(starting: opened)
                return .users
            }
            group.addTask { .monitor(await monitor.run()) }
            for companion in self.options.companions {
                group.addTask {
                    await companion(self.events)
                    return .companion
                }
            }
            var intervals: [Interval] = []
            for await part in group {
                switch part {
                case .users: group.cancelAll()
                case .monitor(let taken): intervals = taken
                case .companion: break
                }
            }
            return intervals
        }
    }

    private func finish(
        _ context: RunContext,
        _ clock: RunClock,
        _ idle: [OpenedSession],
        _ intervals: [Interval]
    ) throws(RunError) -> MeasuredRun {
        for session in idle { try? session.close(in: context, clock: clock) }
        do throws(FleetError) {
            let forgotten = try context.histories.closeAll(at: clock.wall(at: clock.now))
            if forgotten > 0 {
                self.events.note("\(forgotten) times more was on its way for one wallet than the judge could follow")
            }
            try self.fleet.flush()
        } catch {
            throw .fleet(error)
        }
        if let failure = self.events.failure { throw failure }
        context.noteUses()
        // Whoever ends the server's process, or has opened a session since, knows better.
        let isLost = !self.events.isAttended && intervals.endUnanswered(for: Self.silence)
        if isLost, self.events.endReason == nil {
            self.events.note(
                "the server did not answer any more: nothing was answered from some time before the plan's end on"
            )
        }
        let told = self.events.told
        return MeasuredRun(
            start: clock.wall(at: .zero),
            intervals: intervals,
            end: self.events.endReason ?? (isLost ? .lost : .completed),
            markers: told.markers,
            sections: told.sections,
            notes: told.notes
        )
    }
}

extension RunContext {
    /// How many users the plan wants at a time.
    func usersWanted(at time: Duration) -> Int {
        guard !self.plan.isOpen else { return self.plan.openConnections }
        return Int(self.schedule.level(at: time).rounded())
    }

    /// What a reader of the figures must know of how they came about.
    func noteUses() {
        let spared = self.gauges.spared.load(ordering: .relaxed)
        if spared > 0 {
            self.events.note(
                "\(spared) wrong PINs gave way to right ones, so that no wallet had more than \(self.wrongLimit) in a row"
            )
        }
        let repeated = self.gauges.repeated.load(ordering: .relaxed)
        if repeated > 0 {
            self.events.note("\(repeated) checks that had no answer were sent again under their ids, to be judged once")
        }
        let limited = self.gauges.limited.load(ordering: .relaxed)
        if limited > 0 {
            self.events.note(
                """
                \(limited) calls were rate-limited: the server allows each address so many a second \
                (limits.frames-per-source); 0 there, as a new lab has it, lets one machine send all it can
                """
            )
        }
        if self.plan.connectionUse.only == .warm, self.plan.checksPerWallet == nil, !self.sharesWallets {
            self.events.note(
                """
                each connection kept its wallet: \(self.pool.usedCount) of \(self.fleet.count) were used \
                (--checks-per-wallet N moves on to others)
                """
            )
        }
        if self.plan.connectionUse.contains(.resumed) {
            self.events.note("\(self.gauges.resumed.load(ordering: .relaxed)) connections were resumed with a ticket")
        }
    }
}

extension [Interval] {
    /// Whether nothing was answered for at least so long up to the plan's end, nor after it, though something was tried.
    ///
    /// A refusal is an answer here.
    func endUnanswered(for time: Duration) -> Bool {
        let silent = self.reversed().prefix { interval in
            !interval.operations.values.contains { $0.outcomes.contains { $0.value > 0 && $0.key.isOfServer } }
        }
        let inPlan = silent.filter { !$0.isTail }.reduce(Duration.zero) { $0 + ($1.end - $1.start) }
        return inPlan >= time && silent.contains { $0.totals.count + $0.unsent > 0 }
    }
}

extension Outcome {
    /// Whether the server said something.
    fileprivate var isOfServer: Bool {
        guard case .failed(let reason) = self else { return true }
        return reason.hasPrefix("refused:") || reason.hasPrefix("revoked")
    }
}
