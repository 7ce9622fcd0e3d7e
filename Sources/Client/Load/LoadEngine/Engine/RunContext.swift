internal import Wire
internal import LoadFleet
internal import LoadPlan
internal import LoadReport
internal import Transport
internal import HistoryChecker
internal import Vocabulary

/// What all users of a run share.
final class RunContext: Sendable {
    let plan: LoadPlan
    let schedule: Schedule
    let fleet: Fleet
    let target: Target
    let pool: WalletPool
    let histories: WalletHistoryCache
    let recorder: Recorder
    let gauges = RunGauges()
    let events: RunEvents
    let policy: AttemptPolicy
    /// Wrong PINs in a row for one wallet.
    let wrongLimit: Int
    /// Only in an open loop.
    let queue: ArrivalQueue?
    let registrar: Registrar?
    private let lanes: [Lane]
    private let contexts: [TLSClientContext]
    private let resumingContexts: [TLSClientContext]
    private let sources: [String]

    /// Contexts and lanes, so that event loops seldom meet at one of them.
    private static let shardCount = 8

    init(
        _ plan: LoadPlan,
        _ fleet: Fleet,
        at target: Target,
        terms: ServerTerms,
        events: RunEvents
    ) throws(RunError) {
        self.plan = plan
        self.schedule = plan.schedule
        self.fleet = fleet
        self.target = target
        self.events = events
        self.policy = terms.policy
        self.wrongLimit =
            plan.maxWrongPerWallet ?? (plan.pick.sharesWallets ? .max : terms.policy.attemptsPerRound - 1)
        do throws(PlanProblem) {
            self.pool = try WalletPool(plan.pick, among: fleet.count)
        } catch {
            throw .plan(PlanError([error]))
        }
        self.histories = WalletHistoryCache(
            fleet,
            CheckerRules(policy: terms.policy, lateEffect: plan.timeout + .seconds(60))
        )
        let recorder = Recorder()
        self.recorder = recorder
        self.lanes = (0..<Self.shardCount).map { _ in recorder.makeLane() }
        self.queue =
            plan.isOpen
            ? ArrivalQueue(
                Arrivals(plan.arrivals, self.schedule, seed: plan.seed),
                maxInFlight: plan.maxInFlight
            ) : nil
        self.sources = ConnectionLimits.sourceAddresses(for: plan.peakConnections, host: target.host)
        do throws(Target.Problem) {
            self.contexts = try Self.contexts(for: target, resuming: false)
            let resumes = plan.connectionUse.contains(.resumed)
            self.resumingContexts = resumes ? try Self.contexts(for: target, resuming: true) : []
            self.registrar = plan.mix.contains(.register) ? try Registrar(for: fleet, at: target) : nil
        } catch {
            throw .target(error)
        }
    }

    private static func contexts(for target: Target, resuming: Bool) throws(Target.Problem) -> [TLSClientContext] {
        var contexts: [TLSClientContext] = []
        for _ in 0..<Self.shardCount { contexts.append(try target.tls(resuming: resuming)) }
        return contexts
    }

    func lane(of number: Int) -> Lane { self.lanes[number % Self.shardCount] }

    /// - Parameter resuming: keeps tickets and uses them; only where the plan has such connections.
    func tls(of number: Int, resuming: Bool = false) -> TLSClientContext {
        (resuming ? self.resumingContexts : self.contexts)[number % Self.shardCount]
    }

    /// The address that connections of this user come from; nil for the system's choice.
    func source(of number: Int) -> String? {
        self.sources.isEmpty ? nil : self.sources[number % self.sources.count]
    }

    /// Whether a wallet may be used by several at once.
    var sharesWallets: Bool { self.plan.pick.sharesWallets }
}
