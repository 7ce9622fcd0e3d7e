internal import HistoryChecker
internal import Synchronization
internal import Transport
internal import Vocabulary
internal import Wire

/// The state shared by all users of a run, and the clock of its current phase.
struct RunContext: Sendable {
    let plan: LoadPlan
    let schedule: Schedule
    let fleet: Fleet
    let target: Target
    let terms: ServerTerms
    let pool: WalletPool
    let histories: WalletHistoryCache
    let recorder = Recorder()
    let gauges = RunGauges()
    let events: RunEvents
    /// The maximum number of consecutive wrong PINs for a wallet.
    let wrongLimit: Int
    /// The queue of arrivals; only used in an open loop.
    let queue: ArrivalQueue?
    let registrar: Registrar?
    let proof: Proof?
    var clock: RunClock
    private let lanes: [Lane]
    private let servers: [Server]
    private let sources: [String]

    private struct Server {
        let target: Target
        let contexts: [TLSClientContext]
        let resumingContexts: [TLSClientContext]
    }

    /// The number of TLS contexts and lanes, large enough that event loops rarely contend for one.
    private static let shardCount = 8

    /// Asks the server for its terms.
    ///
    /// - Parameters:
    ///   - targets: The servers of one store. The first one is asked.
    ///   - proof: Receives the violations and the times between answers.
    init(_ plan: LoadPlan, _ fleet: Fleet, at targets: [Target], events: RunEvents, proof: Proof? = nil) async throws {
        let target = targets[0]
        self.proof = proof
        self.plan = plan
        self.schedule = plan.schedule
        self.fleet = fleet
        self.target = target
        self.events = events
        let wallets = plan.share.range(of: fleet.count)
        let terms = try await Self.terms(of: fleet, wallets, at: target, timeout: plan.timeout)
        self.terms = terms
        self.wrongLimit = plan.maxWrongPerWallet ?? (plan.pick.sharesWallets ? .max : terms.policy.attemptsPerRound - 1)
        self.pool = try WalletPool(plan.pick, among: wallets)
        self.histories = WalletHistoryCache(
            fleet,
            CheckerRules(policy: terms.policy, lateEffect: plan.timeout + .seconds(60)),
            keepsTranscripts: proof != nil
        )
        let recorder = self.recorder
        self.lanes = (0..<Self.shardCount).map { _ in recorder.makeLane() }
        self.queue = plan.isOpen ? ArrivalQueue(plan.dueTimes, maxInFlight: plan.ownMaxInFlight) : nil
        self.sources = ConnectionLimits.sourceAddresses(for: plan.peakConnections, host: target.host)
        let resumes = plan.connectionUse.contains(.resumed)
        self.servers = try targets.map { target in
            Server(
                target: target,
                contexts: try (0..<Self.shardCount).map { _ in try target.tls(resuming: false) },
                resumingContexts: try (0..<(resumes ? Self.shardCount : 0)).map { _ in try target.tls(resuming: true) }
            )
        }
        self.registrar = plan.mix.contains(.register) ? try Registrar(for: fleet, at: target) : nil
        self.clock = RunClock(wall: target.clock.now())
    }

    /// Requests the server's terms with one of the first wallets.
    ///
    /// This also shows that it is the right server for these wallets.
    private static func terms(
        of fleet: Fleet,
        _ wallets: Range<Int>,
        at target: Target,
        timeout: Duration
    ) async throws -> ServerTerms {
        var failure = FleetFailure.unexpectedAnswer
        // Try several wallets, because some of the first ones may have been revoked.
        for index in wallets.prefix(8) {
            do {
                let session = try await FleetSession.open(
                    try fleet[index],
                    of: fleet,
                    at: target,
                    tls: try target.tls(resuming: false),
                    timeout: timeout
                )
                session.close()
                return session.terms
            } catch FleetFailure.revoked(let revocation) {
                failure = .revoked(revocation)
            }
        }
        throw failure
    }

    var policy: AttemptPolicy { self.terms.policy }

    var serverTime: Timestamp { self.clock.wall(at: self.clock.now) }

    func lane(of number: Int) -> Lane { self.lanes[number % Self.shardCount] }

    /// Connects on behalf of a user.
    ///
    /// - Parameter resuming: Whether to store and use session tickets. It has an effect only if the plan has such
    ///   connections.
    func connect(_ number: Int, resuming: Bool = false) async throws(FleetFailure) -> ClientConnection {
        let turn = self.servers.count > 1 ? self.gauges.connects.add(1, ordering: .relaxed).oldValue : 0
        let server = self.servers[turn % self.servers.count]
        return try await server.target.connect(
            tls: (resuming ? server.resumingContexts : server.contexts)[number % Self.shardCount],
            timeout: self.plan.timeout,
            from: self.sources.isEmpty ? nil : self.sources[number % self.sources.count]
        )
    }

    /// Whether several users may use a wallet at the same time.
    var sharesWallets: Bool { self.plan.pick.sharesWallets }

    /// Returns the number of users that the plan wants at a given time.
    func usersWanted(at time: Duration) -> Int {
        let all = self.plan.isOpen ? self.plan.openConnections : Int(self.schedule.level(at: time).rounded())
        return self.plan.share.size(of: all)
    }

    /// Saves all histories for the next run.
    ///
    /// Must be called after all connections have closed. Throws the run's failure, if there is one.
    func finish() throws {
        let (overflows, epochSteps) = try self.histories.saveAll(at: self.serverTime)
        self.proof?.noteHistories(epochSteps: epochSteps, overflows: overflows)
        if overflows > 0 {
            self.events.note("\(overflows) times a wallet had too many requests in flight to check all verdicts")
        }
        try self.fleet.flush()
        if let failure = self.events.failure { throw failure }
    }
}

extension RunContext {
    /// Opens a session on a new connection and checks the response against the wallet's history.
    ///
    /// A rejected iOS proof is retried once on a new connection, as the protocol requires of wallets.
    func openSession(
        of wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool = false
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            return try await self.tryToOpenSession(of: wallet, number, resuming: resuming)
        } catch .refused(.authenticationFailed) where wallet.wallet.platform == .iOS {
            return try await self.tryToOpenSession(of: wallet, number, resuming: resuming)
        }
    }

    private func tryToOpenSession(
        of wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool
    ) async throws(FleetFailure) -> FleetSession {
        let connection = try await self.connect(number, resuming: resuming)
        let id = wallet.invokes(.opening, at: self.serverTime)
        do throws(FleetFailure) {
            let session = try await FleetSession.begin(
                wallet.wallet,
                of: self.fleet,
                on: connection,
                timeout: self.plan.timeout
            )
            let response = WalletResponse.opened(session.opening.pinState, generation: Int(session.generation))
            let now = self.clock.now
            self.report(wallet.completes(id, response, at: self.clock.wall(at: now)), of: wallet, at: now)
            return session
        } catch {
            self.check(error, of: wallet, id, isWrong: false, generation: nil, at: self.clock.now)
            throw error
        }
    }

    /// Checks the result of an instruction against the wallet's history.
    ///
    /// - Parameter isWrong: Whether the instruction carried a wrong PIN.
    func check(
        _ result: Result<FleetSession.Answer, FleetFailure>,
        of wallet: CheckedWallet,
        _ id: Int,
        isWrong: Bool,
        in session: FleetSession,
        at time: Duration
    ) -> Outcome {
        switch result {
        case .success(let answer):
            let now = self.clock.wall(at: time)
            if let verdict = answer.result.verdict {
                if case .wrong = verdict { self.events.verdictTrigger.fire() }
                self.report(wallet.completes(id, .verdict(verdict, answer.place), at: now), of: wallet, at: time)
            } else {
                self.report(.answerToAnotherQuestion, of: wallet, at: time)
                self.report(wallet.loses(id, isWrong: isWrong, at: now), of: wallet, at: time)
            }
            return answer.result.outcome
        case .failure(let failure):
            self.check(failure, of: wallet, id, isWrong: isWrong, generation: session.generation, at: time)
            return self.outcome(of: failure)
        }
    }

    /// Checks a failure against the wallet's history.
    ///
    /// - Parameter generation: The generation of the session's PIN after the failure, or nil if there is no session.
    private func check(
        _ failure: FleetFailure,
        of wallet: CheckedWallet,
        _ id: Int,
        isWrong: Bool,
        generation: UInt32?,
        at time: Duration
    ) {
        let response: WalletResponse?
        switch failure {
        case .falseShare: response = .validWithForeignShare
        case .strangePINKey: response = .pinKeyChanged(current: nil)
        case .refused(.pinKeyChanged): response = .pinKeyChanged(current: generation.map { Int($0) })
        // These refusals do not tell us whether the attempt was counted.
        case .refused(.unavailable), .refused(.internal): response = nil
        case .revoked, .refused(.revoked): response = .revoked
        case .refused: response = .refused
        case .connect, .call, .fleet: response = nil
        case .unexpectedAnswer:
            self.report(.answerToAnotherQuestion, of: wallet, at: time)
            response = nil
        }
        let now = self.clock.wall(at: time)
        guard let response else {
            return self.report(wallet.loses(id, isWrong: isWrong, at: now), of: wallet, at: time)
        }
        self.report(wallet.completes(id, response, at: now), of: wallet, at: time)
    }

    /// Returns the outcome of a failed operation; ends the run if the wallet file failed.
    func outcome(of failure: FleetFailure) -> Outcome {
        switch failure {
        case .fleet(let error): self.events.end(.aborted, failure: .fleet(error))
        case .call(.closed): self.events.connectionWasLost()
        case .refused(.rateLimited): self.gauges.rateLimited.add(1, ordering: .relaxed)
        // A call is cancelled only by the end of a run.
        case .call(.cancelled): return .interrupted
        default: break
        }
        return .failed(failure.reason)
    }

    /// Records a response that a correct server would not have sent.
    private func report(_ violation: HistoryViolation?, of wallet: CheckedWallet, at time: Duration) {
        guard let violation else { return }
        if case .impossibleOpening = violation {
            self.events.note(
                """
                a server whose store was restored from a backup since the last run has other counts, which is not a \
                fault: run once with --forget-histories to begin new histories
                """
            )
        }
        let text = """
            \(violation.name): wallet \(wallet.wallet.index) (\(wallet.wallet.walletID)), \
            \(time.milliseconds) ms after the start: \(violation)
            """
        self.recorder.recordViolation(text)
        self.proof?.note(violation, text, wallet.transcript)  // rule: load-prove-violation-unnamed
    }

    /// Notes that a wallet is no longer used.
    func excludes(_ wallet: FleetWallet, for failure: FleetFailure) {
        let count = self.gauges.excluded.add(1, ordering: .relaxed).newValue
        guard count <= Self.maxNamed else {
            return self.events.note("more than \(Self.maxNamed) wallets were excluded; the first ones are named")
        }
        var text = "wallet \(wallet.index) (\(wallet.walletID)) was excluded: \(failure)"
        if failure == .refused(.authenticationFailed) {
            text += "; the server removes a wallet without a session after enrollment.unopened-lifetime"
        }
        self.events.note(text)
    }

    /// The maximum number of excluded wallets to name in the report.
    private static let maxNamed = 5
}

extension InstructResult {
    /// The verdict on the PIN, or nil for a result that does not belong to a PIN check.
    fileprivate var verdict: PINVerdict? {
        switch self {
        case .pinValid, .pinChanged: .valid
        case .wrong(let state): .wrong(state)
        case .blocked(let remaining): .blocked(remaining: remaining)
        case .blockedPermanently: .blockedPermanently
        case .recoveryCodeLinked, .deletionCode: nil
        }
    }

    /// The outcome as shown in reports.
    fileprivate var outcome: Outcome {
        switch self {
        case .pinValid: .valid
        case .pinChanged: .changed
        case .wrong: .wrong
        case .blocked: .blocked
        case .blockedPermanently: .blockedPermanently
        case .recoveryCodeLinked, .deletionCode: .failed("unexpected-answer")
        }
    }
}

/// The time since the start of a run, and the corresponding time on the server's clock.
struct RunClock: Sendable {
    let start: ContinuousClock.Instant
    /// The server's clock at the start.
    ///
    /// It is the same as this machine's clock unless a lab's clock is ahead.
    private let wall: Timestamp

    init(startingAt start: ContinuousClock.Instant = .now, wall: Timestamp) {
        self.start = start
        self.wall = wall
    }

    var now: Duration { ContinuousClock.now - self.start }

    /// Returns the server's clock at a moment of the run.
    func wall(at time: Duration) -> Timestamp { self.wall + time }

    /// Returns the same clock, restarted now.
    func restarted() -> RunClock {
        let now = ContinuousClock.now
        return RunClock(startingAt: now, wall: self.wall + (now - self.start))
    }

    /// Returns a clock with the same start, synchronized with the server's current time.
    func synchronized(with serverTime: Timestamp) -> RunClock {
        RunClock(startingAt: self.start, wall: serverTime + (.zero - self.now))
    }

    /// Returns at the given time, or immediately if the task is cancelled.
    func sleep(until time: Duration) async {
        // The caller checks for cancellation.
        try? await Task.sleep(until: self.start + time, tolerance: .zero, clock: .continuous)
    }
}

/// Live counts for a run.
///
/// Its users update them without a lock.
final class RunGauges: Sendable {
    /// The number of open connections, including idle ones.
    let connections = Atomic(0)
    /// The number of calls that have been sent but not answered yet.
    let inFlight = Atomic(0)
    /// The number of users that the plan currently wants.
    ///
    /// Users with this number or higher end.
    let wanted = Atomic(0)
    /// The number of wrong PINs replaced with right ones, so that no wallet is blocked.
    let replaced = Atomic(0)
    let resumed = Atomic(0)
    /// The number of connections made so far.
    ///
    /// It determines which of several servers is used next.
    let connects = Atomic(0)
    /// The number of calls rejected by the server because of a rate limit.
    let rateLimited = Atomic(0)
    /// The number of checks repeated because no response arrived.
    let repeated = Atomic(0)
    /// The number of wallets that the server no longer serves.
    let excluded = Atomic(0)
    private let stopping = Atomic(false)

    /// Whether no new operation may begin.
    var isStopping: Bool { self.stopping.load(ordering: .relaxed) }

    func stop() { self.stopping.store(true, ordering: .relaxed) }

    /// Returns whether the user with this number should continue.
    func wants(_ number: Int) -> Bool { !self.isStopping && number < self.wanted.load(ordering: .relaxed) }
}
