internal import HostSystem
internal import Synchronization

/// Opens a run's sessions before its clock starts.
struct RunSetup {
    /// The time limit for retries when opening a session.
    private static let patience: Duration = .seconds(30)
    /// The number of excluded wallets that makes the setup fail.
    ///
    /// At that point, the wallets are unlikely to be the cause.
    private static let maxExcluded = 64

    let run: RunContext

    /// Opens sessions a few at a time, which keeps a server busy without exceeding its limits.
    ///
    /// - Parameters:
    ///   - first: The number of the first user.
    ///   - onProgress: Called with the number of open sessions.
    func open(_ count: Int, first: Int, onProgress: (Int) -> Void) async throws -> [OpenedSession] {
        let (sessions, failure) = await concurrently(count, onSuccess: onProgress) { number in
            try await self.openOne(first + number)
        }
        guard let failure else { return sessions }
        for session in sessions { try? session.close(in: self.run) }
        throw failure
    }

    private func openOne(_ number: Int) async throws -> OpenedSession {
        var generator = PlanGenerator(seed: self.run.plan.ownSeed, stream: UInt64(number) &+ 0x5E55_1041)
        var backoff = Backoff()
        let end = self.run.clock.now + Self.patience
        while true {
            guard self.run.events.endReason == nil else { throw RunError.interrupted }
            do throws(FleetFailure) {
                if let session = try await OpenedSession.open(number, in: self.run, using: &generator) {
                    return session
                }
            } catch {
                guard self.run.events.endReason == nil else { throw RunError.interrupted }
                if Task.isCancelled { throw error }
                // In this case, draw another wallet.
                if error.concernsOnlyThisWallet, !self.run.sharesWallets,
                    self.run.gauges.excluded.load(ordering: .relaxed) < Self.maxExcluded
                {
                    continue
                }
                guard error.isTransient, self.run.clock.now < end else { throw error }
                await self.run.clock.sleep(until: self.run.clock.now + backoff.nextPause(using: &generator))
                continue
            }
            throw Self.tooFewWallets(self.run.plan.share.size(of: self.run.fleet.count))
        }
    }

    static func tooFewWallets(_ count: Int) -> PlanProblem {
        PlanProblem(
            place: "--wallets",
            """
            \(count) wallets are too few for the connections: each connection needs its own wallet; register more \
            with `pin-load provision`, or use fewer connections
            """
        )
    }
}

/// Limits on connections from one process and one address.
enum ConnectionLimits {
    /// The number of open files other than connections: the wallet file, event loops and standard streams.
    static let otherFiles = 64
    /// The number of connections from one address.
    ///
    /// It is below the server's usual limit per source and far below the number of ports.
    static let connectionsPerAddress = 2_000

    /// Raises the limit on open files for the plan.
    ///
    /// If that is not permitted, throws a problem that says how to fix it.
    static func prepare(for plan: LoadPlan) throws(PlanProblem) {
        let needed = plan.peakConnections + Self.otherFiles
        let limit = OpenFiles.raise(to: needed)
        guard limit.current < needed else { return }
        throw PlanProblem(
            place: plan.isOpen ? "--connections" : "--stages",
            """
            \(plan.peakConnections) connections need \(needed) open files, and this user's limit is \(limit.highest). \
            Raise the limit first, as root: `prlimit --pid $$ --nofile=\(needed)`, then start again from that shell.
            """
        )
    }

    /// Returns the local addresses to connect from in turn, or an empty list if the system can choose.
    ///
    /// All addresses in 127.0.0.0/8 belong to this machine. Each address has about 28,000 ports per server, and the
    /// server limits the number of connections per source.
    static func sourceAddresses(for count: Int, host: String) -> [String] {
        guard host == "127.0.0.1" || host == "localhost", count > Self.connectionsPerAddress else { return [] }
        let addresses = (count + Self.connectionsPerAddress - 1) / Self.connectionsPerAddress
        return (0..<min(addresses, 250 * 250)).map { "127.0.\(1 + $0 / 250).\(1 + $0 % 250)" }
    }
}

/// Calls `body` for each number below `count`, up to `width` at a time, until one call fails.
///
/// Returns the results of the successful calls and the first failure. After a failure, the calls in progress are
/// cancelled and no further calls are started.
/// - Parameter onSuccess: Called with the number of successful calls so far.
func concurrently<Success: Sendable, Failure: Error>(
    _ count: Int,
    width: Int = 32,
    onSuccess: (Int) -> Void = { _ in },
    _ body: @escaping @Sendable (Int) async throws(Failure) -> Success
) async -> (successes: [Success], failure: Failure?) {
    await withTaskGroup(of: Result<Success, Failure>.self) { group in
        var (successes, next) = ([Success](), 0)
        var failure: Failure?
        func begin() {
            guard next < count, failure == nil else { return }
            let number = next
            next += 1
            group.addTask {
                do throws(Failure) { return .success(try await body(number)) } catch { return .failure(error) }
            }
        }
        for _ in 0..<width { begin() }
        for await result in group {
            switch result {
            case .success(let success):
                successes.append(success)
                onSuccess(successes.count)
                begin()
            case .failure(let error):
                failure = failure ?? error
                group.cancelAll()
            }
        }
        return (successes, failure)
    }
}
