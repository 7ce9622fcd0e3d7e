internal import PostgreSQLClient
internal import Synchronization
package import WalletStore

extension PostgreSQLWalletStore: ServedStore {
    package var isShared: Bool { true }

    /// The number of this server's confirmed commits in the store's epoch.
    package var generation: UInt64 { self.confirmed.total }

    package func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64 {
        let server = self.parts.server
        let accounted = try await self.perform(.reading) { try $0.session.accountedCommits(of: server) }
        return accounted.first { $0.epoch == Int64(epoch) }?.leastTotal ?? 0
    }

    package var waitingSteps: Int { self.judging.count + self.transactions.count }

    package var lease: (any ServerLease)? { self.keeper.withLock(\.self) }

    /// Takes this server's lease; before that, the server must not serve wallets.
    package func takeLease() async throws(PostgreSQLStoreOpenError) {
        let keeper = try await LeaseKeeper.take(self.parts, self.confirmed)
        self.keeper.withLock { $0 = keeper }
    }

    /// Upgrades the tables of a store that was opened for an upgrade to this program's version.
    package func upgrade() async throws(PostgreSQLStoreOpenError) { _ = try await Self.migrate(self.parts) }

    /// Brings the tables to this program's version; returns their version before, nil if there was nothing to do.
    ///
    /// Changes nothing in a store that these parts could not open.
    package static func migrate(_ parts: StoreParts) async throws(PostgreSQLStoreOpenError) -> Int64? {
        var parts = parts
        parts.acceptsEarlierVersion = true
        let accepting = parts
        return try await self.onThread(of: accepting.machine) {
            // A database that lacks this server's commits is not upgraded: it may not be the newest one.
            let confirmed = accepting.acceptsLostCommits ? nil : try ConfirmedCommits(accepting)
            let session = try StoreSession(accepting, confirmed)
            return try accepting.schema.migrate(on: session.connection, within: accepting.timeLimit)
        }
    }
}
