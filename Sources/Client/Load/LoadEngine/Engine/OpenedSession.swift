internal import LoadFleet
internal import LoadPlan
internal import Synchronization
internal import Transport
internal import HistoryChecker
internal import Vocabulary
internal import Wire

/// A wallet's session in a run: open, judged from its first answer on.
struct OpenedSession: Sendable {
    let session: FleetSession
    let wallet: CheckedWallet
    /// Before the server ends the session for its age.
    let expires: ContinuousClock.Instant

    /// Chooses a wallet that nobody uses, connects, and opens a session for it.
    ///
    /// The wallet is free again where that fails; nil where all are in use.
    /// - Parameter wanted: chosen where nobody uses it.
    static func open(
        _ number: Int,
        wallet wanted: Int? = nil,
        resuming: Bool = false,
        in run: RunContext,
        clock: RunClock,
        using generator: inout PlanGenerator
    ) async throws(FleetFailure) -> OpenedSession? {
        guard let index = run.pool.take(wanted, using: &generator) else { return nil }
        return try await self.open(taken: index, number, resuming: resuming, in: run, clock: clock)
    }

    /// The same for a wallet that was taken from the desk.
    static func open(
        taken index: Int,
        _ number: Int,
        resuming: Bool = false,
        in run: RunContext,
        clock: RunClock
    ) async throws(FleetFailure) -> OpenedSession {
        let wallet: CheckedWallet
        do throws(FleetError) {
            wallet = try run.histories.open(index)
        } catch {
            run.pool.giveBack(index)
            throw .fleet(error)
        }
        do throws(FleetFailure) {
            let session = try await self.session(of: wallet, number, resuming: resuming, in: run, clock: clock)
            run.gauges.connections.add(1, ordering: .relaxed)
            return OpenedSession(
                session: session,
                wallet: wallet,
                expires: .now + session.terms.limits.sessionLifetime * 0.9
            )
        } catch {
            guard error.isTheWalletsOwn, !run.sharesWallets else {
                try self.giveBack(wallet, in: run, clock: clock)
                throw error
            }
            // Not given back: nobody draws it again.
            run.passesOver(wallet.wallet, for: error)
            do throws(FleetError) { try run.histories.close(wallet, at: clock.wall(at: clock.now)) } catch {
                throw .fleet(error)
            }
            throw error
        }
    }

    /// An iOS proof that is refused is repeated once on a new connection, as the protocol has wallets do.
    private static func session(
        of wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool,
        in run: RunContext,
        clock: RunClock
    ) async throws(FleetFailure) -> FleetSession {
        do throws(FleetFailure) {
            return try await self.attempt(wallet, number, resuming: resuming, in: run, clock: clock)
        } catch .refused(.authenticationFailed) where wallet.wallet.platform == .iOS {
            return try await self.attempt(wallet, number, resuming: resuming, in: run, clock: clock)
        }
    }

    private static func attempt(
        _ wallet: CheckedWallet,
        _ number: Int,
        resuming: Bool,
        in run: RunContext,
        clock: RunClock
    ) async throws(FleetFailure) -> FleetSession {
        let connection = try await run.target.connect(
            tls: run.tls(of: number, resuming: resuming),
            timeout: run.plan.timeout,
            from: run.source(of: number)
        )
        let id = wallet.sends(.opening, at: clock.wall(at: clock.now))
        do throws(FleetFailure) {
            let session = try await FleetSession.begin(
                wallet.wallet,
                of: run.fleet,
                on: connection,
                timeout: run.plan.timeout
            )
            let violation = wallet.opens(
                session.opening.pinState,
                generation: session.generation,
                as: id,
                attempts: run.policy.attemptsPerRound,
                at: clock.wall(at: clock.now)
            )
            if let violation { run.violated(violation, wallet.wallet, at: clock.now) }
            return session
        } catch {
            run.judge(error, of: wallet, id, isWrong: false, generation: nil, at: clock.now, clock: clock)
            throw error
        }
    }

    /// Ends the session; the wallet may be used by another.
    func close(in run: RunContext, clock: RunClock) throws(FleetFailure) {
        self.session.close()
        run.gauges.connections.subtract(1, ordering: .relaxed)
        try Self.giveBack(self.wallet, in: run, clock: clock)
    }

    private static func giveBack(_ wallet: CheckedWallet, in run: RunContext, clock: RunClock) throws(FleetFailure) {
        do throws(FleetError) {
            try run.histories.close(wallet, at: clock.wall(at: clock.now))
        } catch {
            throw .fleet(error)
        }
        run.pool.giveBack(wallet.wallet.index)
    }
}
