internal import AuditLog
internal import Logging
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary
internal import WalletStore

// Replaces the shares of all wallets, after the store and its key were stolen.
//
//     refresh begun, durable ─▶ next shares for every wallet ─▶ each wallet confirms its own after a right PIN
//
// If a pass is interrupted, the next start continues after the last wallet that the pass reached.
extension Maintenance {
    /// The number of wallets read and written by one step.
    private static let refreshStep = 64
    private static let refreshPause: Duration = .milliseconds(2)

    /// Starts replacing the shares of all wallets.
    ///
    /// ``refreshSharesIfDue()`` does the rest.
    package func refreshShares() async throws -> ShareRefreshProgress {
        try self.requireTurn()
        try await self.parts.store.beginShareRefresh(at: self.parts.clock.now())
        let wallets = try await self.parts.store.walletCount()
        let progress = ShareRefreshProgress(wallets: wallets)
        self.state.withLock { $0.refresh = progress }
        self.parts.log.notice("refresh of all shares begun")
        self.askedReseals.yield()
        return progress
    }

    /// Creates next shares for the wallets that the current refresh has not reached yet, if a refresh is in progress.
    func refreshSharesIfDue() async {
        let store = self.parts.store
        do {
            var isDue = false
            while let wallets = try await store.walletsToRefresh(limit: Self.refreshStep) {
                isDue = true
                var offered: [OfferedShares] = []
                for wallet in wallets {
                    let next = wallet.hasEnded ? nil : try await self.nextShares(of: wallet.walletID)
                    offered.append(OfferedShares(cursor: wallet.cursor, walletID: wallet.walletID, next: next))
                }
                try await store.offer(offered)
                let count = wallets.count
                self.state.withLock { state in
                    var refresh = state.refresh ?? ShareRefreshProgress()
                    refresh.state = .running
                    refresh.walletsDone += count
                    refresh.wallets = max(refresh.wallets, refresh.walletsDone)
                    state.refresh = refresh
                }
                try await Task.sleep(for: Self.refreshPause)
            }
            guard isDue else { return }
            try await self.parts.audit.append(.sharesOffered, by: .server, .done(of: nil, result: "all wallets"))
            self.parts.log.notice("next shares made for all wallets; each receives them at its next unlock")
            self.state.withLock { $0.refresh?.state = .done }
        } catch is CancellationError {
            // The next start continues from here.
        } catch {
            self.parts.log.warning("making next shares failed and is retried", metadata: ["reason": "\(error)"])
            self.state.withLock { state in
                state.refresh?.state = .failed
                state.refresh?.problem = "\(error)"
            }
        }
    }

    private func nextShares(of wallet: WalletID) async throws -> NextShares {
        let vault = self.parts.vault
        return NextShares(
            unlock: try await vault.seal(.random(count: Share.byteCount), as: .unlockShare, of: wallet),
            presence: try await vault.seal(.random(count: Share.byteCount), as: .presenceShare, of: wallet)
        )
    }

    /// Returns the number of wallets that have not yet confirmed all their next shares.
    package func unconfirmedShares() async throws -> Int {
        try await self.parts.store.unconfirmedShares()
    }
}
