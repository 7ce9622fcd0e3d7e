internal import LoadFleet
internal import LoadPlan
internal import Synchronization
internal import Wire

/// An open session for a wallet that was taken from the pool.
///
/// All responses are checked, starting with the first one.
struct OpenedSession: Sendable {
    let session: FleetSession
    let wallet: CheckedWallet
    /// A time shortly before the server ends the session because of its age.
    let expires: ContinuousClock.Instant

    /// Takes a wallet from the pool, connects, and opens a session.
    ///
    /// Returns nil if all wallets are in use.
    ///
    /// On failure, the wallet is returned to the pool.
    /// - Parameter wanted: The wallet to take if it is free.
    static func open(
        _ number: Int,
        wallet wanted: Int? = nil,
        resuming: Bool = false,
        in run: RunContext,
        using generator: inout PlanGenerator
    ) async throws(FleetFailure) -> OpenedSession? {
        guard let index = run.pool.take(wanted, using: &generator) else { return nil }
        return try await self.open(taken: index, number, resuming: resuming, in: run)
    }

    /// Opens a session for a wallet that has already been taken.
    static func open(
        taken index: Int,
        _ number: Int,
        resuming: Bool = false,
        in run: RunContext
    ) async throws(FleetFailure) -> OpenedSession {
        let wallet: CheckedWallet
        do throws(FleetFailure) {
            wallet = try run.histories.open(index)
        } catch {
            run.pool.release(index)
            throw error
        }
        do throws(FleetFailure) {
            let session = try await run.openSession(of: wallet, number, resuming: resuming)
            run.gauges.connections.add(1, ordering: .relaxed)
            return OpenedSession(
                session: session,
                wallet: wallet,
                expires: .now + session.terms.limits.sessionLifetime * 0.9
            )
        } catch {
            try run.histories.close(wallet, at: run.serverTime)
            if error.concernsOnlyThisWallet, !run.sharesWallets {
                // Do not return the wallet to the pool, so that it is not drawn again.
                run.excludes(wallet.wallet, for: error)
            } else {
                run.pool.release(index)
            }
            throw error
        }
    }

    /// Closes the session and returns the wallet to the pool.
    func close(in run: RunContext) throws(FleetFailure) {
        self.session.close()
        run.gauges.connections.subtract(1, ordering: .relaxed)
        try run.histories.close(self.wallet, at: run.serverTime)
        run.pool.release(self.wallet.wallet.index)
    }
}
