internal import LoadFleet
internal import LoadPlan
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
