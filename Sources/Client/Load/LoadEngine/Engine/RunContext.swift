internal import HistoryChecker
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
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
    /// The queue of arrivals.
    ///
    /// Only used in an open loop.
    let queue: ArrivalQueue?
    let registrar: Registrar?
    let proof: Proof?
    var clock: RunClock
    private let lanes: [Lane]
    private let servers: [Server]
    private let sources: [String]

    /// A server with its TLS contexts.
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
    init(
        _ plan: LoadPlan,
        _ fleet: Fleet,
        at targets: [Target],
        events: RunEvents,
        proof: Proof? = nil
    ) async throws {
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
        self.wrongLimit =
            plan.maxWrongPerWallet ?? (plan.pick.sharesWallets ? .max : terms.policy.attemptsPerRound - 1)
        self.pool = try WalletPool(plan.pick, among: wallets)
        self.histories = WalletHistoryCache(
            fleet,
            CheckerRules(policy: terms.policy, lateEffect: plan.timeout + .seconds(60)),
            keepsTranscripts: proof != nil
        )
        let recorder = self.recorder
        self.lanes = (0..<Self.shardCount).map { _ in recorder.makeLane() }
        self.queue =
            plan.isOpen
            ? ArrivalQueue(plan.dueTimes, maxInFlight: plan.ownMaxInFlight) : nil
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

    /// The server's clock now.
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
