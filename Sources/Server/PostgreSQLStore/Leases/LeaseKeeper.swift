internal import Metrics
internal import PostgreSQLClient
internal import Synchronization
internal import Vocabulary
internal import WalletStore

/// Keeps this server's lease, on a thread with a separate connection, so that no PIN check delays a renewal.
///
///     renew ─▶ end the leases of servers that are gone ─▶ settle new revocations ─▶ acknowledge with a renewal
///
/// The lease lasts ``StoreParts/lease`` after a renewal. This server counts from the moment before it, and stops after
/// two thirds: from then on it releases nothing, and in the last third it cuts off the answers that clients have not
/// received yet. Other servers count from the moment at which they saw the renewal. So no two clocks are compared.
///
/// A second thread watches for the end of the lease, because the first thread may be blocked: libpq resolves host names
/// with no time limit.
final class LeaseKeeper: ServerLease {
    struct State {
        var lease: LeaseState
        var waiters: [UInt64: CheckedContinuation<Result<Acknowledgements, StoreError>, Never>] = [:]
        var settle: @Sendable ([WalletID]?) async -> Void = { _ in }
        var load: @Sendable () -> (connections: Int, sessions: Int) = { (0, 0) }
        var renewedAt: Duration
        var isClosed = false
    }

    let server: String
    let parts: StoreParts
    let confirmed: ConfirmedCommits
    let instance: String
    let leaseClock: LeaseClock
    let wakePipe: WakePipe
    let state: Mutex<State>
    /// The end of the thread that keeps the lease.
    let end = ThreadEnd()
    /// The end of the right to release, that is, to send wallets' data; in nanoseconds since the machine started.
    let heldUntil = Atomic<Int64>(0)
    let maintains = Atomic<Bool>(false)
    /// Whether everything has been settled since the right to release last ended.
    private let isSettled = Atomic<Bool>(true)
    /// Admits one thread at a time to the right to release; the thread may settle meanwhile, which takes time.
    private let turn: any StoreWake
    /// The interval at which the thread that watches for the end of the lease checks the clock.
    private static let watchInterval: Duration = .milliseconds(100)
    private let acknowledgementTime: Metrics.Timer

    var clock: any WallClock { self.leaseClock }

    var isHeld: Bool { self.parts.elapsed().nanoseconds < self.heldUntil.load(ordering: .sequentiallyConsistent) }

    var age: Duration { self.parts.elapsed() - self.state.withLock(\.renewedAt) }

    var clockDifference: Duration { self.leaseClock.difference }

    var servers: [LeasedServer] { self.state.withLock(\.lease.servers) }

    var hasMaintenance: Bool { self.maintains.load(ordering: .relaxed) && self.isHeld }

    /// Takes the lease, and returns once this server may release data.
    ///
    /// If there is a lease under this server's name, it waits until that has ended: this server's earlier process may
    /// have been killed.
    static func take(
        _ parts: StoreParts,
        _ confirmed: ConfirmedCommits
    ) async throws(PostgreSQLStoreOpenError) -> LeaseKeeper {
        guard let pipe = parts.machine.makePipe() else {
            throw .unreachable("this process has no free file descriptors")
        }
        let keeper = LeaseKeeper(parts, confirmed, pipe)
        let result: Result<Void, PostgreSQLStoreOpenError> = await withCheckedContinuation { waiter in
            parts.machine.startThread("lease") {
                let worker = LeaseWorker(keeper)
                do {
                    try worker.begin()
                } catch {
                    let failure = error as? PostgreSQLStoreOpenError ?? .unreachable("\(error)")
                    return waiter.resume(returning: .failure(failure))
                }
                waiter.resume(returning: .success(()))
                worker.run()
            }
        }
        try result.get()
        parts.machine.startThread("lease end") { keeper.watch() }
        return keeper
    }

    private init(_ parts: StoreParts, _ confirmed: ConfirmedCommits, _ pipe: WakePipe) {
        self.parts = parts
        self.confirmed = confirmed
        self.server = parts.server
        self.instance = String(UInt64.random(in: .min ... .max), radix: 16)
        self.leaseClock = LeaseClock(parts.uptime)
        self.wakePipe = pipe
        self.turn = parts.machine.makeSemaphore()
        self.turn.signal()
        self.acknowledgementTime = Metrics.Timer(
            label: "remote_pin_revocation_acknowledgement_seconds",
            factory: parts.metrics
        )
        self.state = Mutex(State(lease: LeaseState(instance: self.instance), renewedAt: parts.elapsed()))
    }

    func serve(
        settle: @escaping @Sendable ([WalletID]?) async -> Void,
        load: @escaping @Sendable () -> (connections: Int, sessions: Int)
    ) {
        self.state.withLock {
            $0.settle = settle
            $0.load = load
        }
    }

    func acknowledgements() async throws(StoreError) -> Acknowledgements {
        let start = self.parts.machine.now()
        let result: Result<Acknowledgements, StoreError> = await withCheckedContinuation { waiter in
            let isTaken = self.state.withLock { state in
                guard !state.isClosed else { return false }
                state.waiters[state.lease.wait()] = waiter
                return true
            }
            if isTaken { self.wakePipe.wake() } else { waiter.resume(returning: .failure(.unavailable)) }
        }
        let answer = try result.get()
        self.acknowledgementTime.record(self.parts.machine.now() - start)
        return answer
    }

    /// Ends the lease, after the last connection of a wallet was closed.
    func close() async {
        self.state.withLock { $0.isClosed = true }
        self.wakePipe.wake()
        await self.end.reached()
    }
}

/// The end of the right to release.
extension LeaseKeeper {
    /// Extends the right to release, counted from the moment before a renewal.
    func extend(from start: Duration) {
        self.settleIfLapsed()
        self.state.withLock { $0.renewedAt = start }
        self.turn.wait()
        defer { self.turn.signal() }
        self.isSettled.store(false, ordering: .sequentiallyConsistent)
        self.heldUntil.store((start + self.parts.lease * 2 / 3).nanoseconds, ordering: .sequentiallyConsistent)
    }

    /// Ends the right to release, and cuts off undelivered answers.
    func giveUp() {
        self.heldUntil.store(0, ordering: .sequentiallyConsistent)
        self.settleIfLapsed()
    }

    /// Cuts off undelivered answers after the right to release has ended.
    ///
    /// Invariant (G7): an answer that was handed to a connection in time either reaches its client before other servers
    /// count the lease as ended, or is never sent.
    func settleIfLapsed() {
        self.turn.wait()
        defer { self.turn.signal() }
        guard !self.isSettled.load(ordering: .sequentiallyConsistent), !self.isHeld else { return }
        self.parts.onRefusal("the lease was not renewed in time: nothing is released until it is", nil)
        self.settle(nil)
        self.abandonWaiters()
        self.isSettled.store(true, ordering: .sequentiallyConsistent)
    }

    /// Watches for the end of the right to release until the lease is closed, even while the other thread is blocked.
    ///
    /// It polls the clock, since a thread that sleeps until the end would wake too late after a suspension of the
    /// machine.
    private func watch() {
        while !self.end.isReached {
            self.settleIfLapsed()  // rule: lease-end-waits-for-thread
            self.parts.machine.sleep(Self.watchInterval)
        }
    }

    /// Returns once no data of these wallets is in flight, or of any wallet if `wallets` is nil.
    func settle(_ wallets: [WalletID]?) {
        let (settle, done) = (self.state.withLock(\.settle), self.parts.machine.makeSemaphore())
        Task {
            await settle(wallets)
            done.signal()
        }
        done.wait()
    }

    /// Fails the calls that wait for acknowledgments.
    func abandonWaiters() {
        let waiters = self.state.withLock { state in
            state.lease.abandonWaiters().compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: .failure(.unavailable)) }
    }
}

extension Duration {
    /// A time since the machine started, which fits for 292 years.
    var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
