internal import ConfigText
internal import Synchronization
package import Vocabulary

/// Runs a plan against a server, using the wallets of a fleet.
package struct LoadRun: Sendable {
    /// Settings for a run in addition to its plan.
    package struct Options: Sendable {
        package var thresholds: [Threshold] = []
        /// Whether to end the run once a threshold can no longer be met, or has not been met for several seconds.
        package var abortsOnFail = false
        /// The time at which the plan starts.
        ///
        /// If nil, it starts as soon as all sessions are open.
        package var start: ContinuousClock.Instant?
        /// The server's process on this machine, or nil if unknown.
        package var serverPID: Int32?
        /// Tasks that run in parallel with the load and are cancelled when it ends.
        package var companions: [@Sendable (RunEvents) async -> Void] = []
        /// Other servers on the same store.
        ///
        /// Connections take turns between all servers.
        package var others: [Target] = []
        /// Injects faults and revocations during the run.
        package var proof: Proof?

        package init() {}
    }

    let plan: LoadPlan
    let fleet: Fleet
    let target: Target
    let options: Options
    let events: RunEvents

    /// - Parameter events: Receives the run's events and can end the run.
    package init(_ plan: LoadPlan, of fleet: Fleet, at target: Target, options: Options, events: RunEvents) {
        self.plan = plan
        self.fleet = fleet
        self.target = target
        self.options = options
        self.events = events
    }

    /// Runs the plan to its end, or until the run is ended early; returns the measurements so far.
    ///
    /// - Parameter onProgress: Called about once a second, and for each session opened before the start.
    package func run(onProgress: @escaping @Sendable (LoadProgress) -> Void) async throws(RunError) -> MeasuredRun {
        do { return try await self.measure(onProgress) } catch { throw RunError(error, at: self.target) }
    }

    private func measure(_ onProgress: @escaping @Sendable (LoadProgress) -> Void) async throws -> MeasuredRun {
        try self.check()
        var run = try await RunContext(
            self.plan,
            self.fleet,
            at: [self.target] + self.options.others,
            events: self.events,
            proof: self.options.proof
        )
        let setup = RunSetup(run: run)
        let wanted = self.plan.connectionUse.contains(.warm) ? run.usersWanted(at: .zero) : 0
        let all = wanted + self.plan.ownIdleConnections
        let opened = try await setup.open(wanted, first: 0) { onProgress(.opening($0, of: all)) }
        let idle: [OpenedSession]
        do {
            idle = try await setup.open(self.plan.ownIdleConnections, first: wanted) {
                onProgress(.opening(wanted + $0, of: all))
            }
        } catch {
            for session in opened { try? session.close(in: run) }
            throw error
        }
        do {
            try await self.awaitStart(onProgress)
        } catch {
            for session in opened + idle { try? session.close(in: run) }
            throw error
        }
        run.clock = run.clock.restarted()
        self.events.begin(run.clock)
        if let pid = self.options.serverPID { self.events.serverStarted(pid: pid) }
        let monitor = Monitor(run, options: self.options, idle: idle, onProgress: onProgress)
        let intervals = await self.drive(run, opened, monitor)
        for session in idle { try? session.close(in: run) }
        try run.finish()
        run.noteUses()
        let isLost = !self.events.isServerStateKnown && intervals.endUnanswered(for: Self.silence)
        if isLost, self.events.endReason == nil {
            self.events.note("the server stopped responding some time before the plan's end")
        }
        return self.events.measured(intervals, from: run.clock.wall(at: .zero), end: isLost ? .lost : .completed)
    }

    /// Waits for the time at which all machines start this load.
    private func awaitStart(_ onProgress: @Sendable (LoadProgress) -> Void) async throws {
        guard let start = self.options.start else { return }
        let late = ContinuousClock.now - start
        guard late <= .zero else {
            throw PlanError([
                PlanProblem(
                    place: "--start-at",
                    "the sessions were open \(DurationText.write(late)) after this time; choose a later one"
                )
            ])
        }
        while ContinuousClock.now < start {
            guard self.events.endReason == nil else { throw RunError.interrupted }
            onProgress(.waiting(start - .now))
            try await Task.sleep(until: Swift.min(start, .now + .seconds(1)), tolerance: .zero, clock: .continuous)
        }
    }

    private func check() throws {
        var problems = self.plan.problems
        let wallets = self.plan.share.size(of: self.fleet.count)
        if !self.plan.pick.sharesWallets, wallets < self.plan.peakConnections {
            problems.append(RunSetup.tooFewWallets(wallets))
        }
        guard problems.isEmpty else { throw PlanError(problems) }
        try ConnectionLimits.prepare(for: self.plan)
    }

    /// If there has been no response for this long at the end of the plan, the server is considered lost.
    private static let silence: Duration = .seconds(2)

    private enum Part {
        case users
        case monitor([Interval])
        case companion
    }

    /// Runs the load, its monitor and its companions until the load has ended.
    private func drive(_ run: RunContext, _ opened: [OpenedSession], _ monitor: Monitor) async -> [Interval] {
        await withTaskGroup(of: Part.self) { group in
            group.addTask {
                await UserScheduler(run).run(starting: opened)
                return .users
            }
            group.addTask { .monitor(await monitor.run()) }
            for companion in self.options.companions {
                group.addTask {
                    await companion(self.events)
                    return .companion
                }
            }
            if let proof = self.options.proof {
                group.addTask {
                    await proof.run(in: run)
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
}

extension RunContext {
    /// Notes any circumstances that readers of the results need to know.
    fileprivate func noteUses() {
        let replaced = self.gauges.replaced.load(ordering: .relaxed)
        if replaced > 0 {
            self.events.note(
                "wrong PINs replaced by right ones, so that no wallet had more than \(self.wrongLimit) in a row: "
                    + NumberText.count(replaced)
            )
        }
        let repeated = self.gauges.repeated.load(ordering: .relaxed)
        if repeated > 0 {
            self.events.note(
                "\(repeated) checks without a response were sent again with their attempt ids, to be judged once"
            )
        }
        let rateLimited = self.gauges.rateLimited.load(ordering: .relaxed)
        if rateLimited > 0 {
            self.events.note(
                """
                \(rateLimited) calls were rate-limited: the server limits the calls per second of each address \
                (limits.frames-per-source); 0, the setting of a new lab, removes the limit
                """
            )
        }
        if self.plan.connectionUse.only == .warm, self.plan.checksPerWallet == nil, !self.sharesWallets {
            self.events.note(
                """
                each connection kept its wallet: \(NumberText.count(self.pool.usedCount)) of \
                \(NumberText.count(self.plan.share.size(of: self.fleet.count))) were used \
                (--checks-per-wallet N uses others too)
                """
            )
        }
        if self.plan.connectionUse.contains(.resumed) {
            self.events.note("\(self.gauges.resumed.load(ordering: .relaxed)) connections were resumed with a ticket")
        }
    }
}

extension [Interval] {
    /// Returns whether calls were made but no response arrived for at least this long before the end of the plan, and
    /// none after it.
    ///
    /// A refusal counts as a response.
    func endUnanswered(for time: Duration) -> Bool {
        let silent = self.reversed().prefix { interval in
            !interval.operations.values.contains { $0.outcomes.contains { $0.value > 0 && $0.key.isOfServer } }
        }
        let inPlan = silent.filter { !$0.isTail }.reduce(Duration.zero) { $0 + ($1.end - $1.start) }
        return inPlan >= time && silent.contains { $0.totals.count + $0.unsent > 0 }
    }
}

extension Outcome {
    /// Whether the outcome reflects a response from the server.
    fileprivate var isOfServer: Bool {
        guard case .failed(let reason) = self else { return true }
        return reason.hasPrefix("refused:") || reason.hasPrefix("revoked")
    }
}

/// The measurements of a run, before they are turned into a ``RunResult``.
package struct MeasuredRun: Sendable {
    /// The start time according to the server's clock.
    package let start: Timestamp
    package let intervals: [Interval]
    package let end: RunEnd
    package let markers: [Marker]
    package var sections: [ReportSection]
    package let notes: [String]
}

package enum LoadProgress: Sendable {
    /// Sessions are being opened before the clock starts.
    ///
    /// The first value is the number of open sessions.
    case opening(Int, of: Int)
    /// All sessions are open, and the plan will start after this time.
    case waiting(Duration)
    case running(RunSnapshot)
}

/// The last interval of a run, and the totals so far.
package struct RunSnapshot: Sendable {
    package let interval: Interval
    /// The totals, excluding the warm-up.
    package let totals: Totals
    /// The length of the warm-up and all stages.
    package let duration: Duration
    /// The schedule's current target: connections, or checks per second.
    package let load: Double
    /// In an open loop, the number of checks that are due but have not been sent yet.
    package let waiting: Int
    /// The number of checks that were sent again because no response arrived.
    package let repeated: Int
    /// The thresholds that are not met so far.
    package let failing: [String]
}

/// A reason why a run did not start or could not continue.
package enum RunError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The plan is invalid.
    ///
    /// Correct it.
    case plan(PlanError)
    /// The server's responses do not allow a measurement.
    ///
    /// Fix the server first.
    case server(FleetFailure, address: String)
    /// The wallet file can no longer be used.
    case fleet(FleetError)
    /// The target cannot be used as specified.
    ///
    /// Specify it differently.
    case target(Target.Problem)
    case interrupted

    package var description: String {
        switch self {
        case .plan(let error): error.description
        case .server(let failure, let address): "\(address): \(failure)"
        case .fleet(let error): error.description
        case .target(let problem): problem.description
        case .interrupted: "interrupted before anything was measured"
        }
    }

    init(_ error: any Error, at target: Target) {
        switch error {
        case let error as RunError: self = error
        case let error as PlanError: self = .plan(error)
        case let error as PlanProblem: self = .plan(PlanError([error]))
        case let error as FleetError: self = .fleet(error)
        case FleetFailure.fleet(let error): self = .fleet(error)
        case let error as FleetFailure: self = .server(error, address: target.address)
        case let error as Target.Problem: self = .target(error)
        default: self = .server(.unexpectedAnswer, address: target.address)
        }
    }
}
