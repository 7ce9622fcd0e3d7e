internal import PostgreSQLClient
internal import Synchronization
package import WalletStore

extension PostgreSQLWalletStore: ServedStore {
    package var isShared: Bool { true }

    /// The number of this server's confirmed commits in the store's epoch.
    package var generation: UInt64 { self.confirmed.total }

    package var waitingSteps: Int { self.judging.count + self.transactions.count }

    package var lease: (any ServerLease)? { self.keeper.withLock(\.self) }

    /// Takes this server's lease; before that, the server must not serve wallets.
    package func takeLease() async throws(PostgreSQLStoreOpenError) {
        let keeper = try await LeaseKeeper.take(self.parts)
        self.keeper.withLock { $0 = keeper }
    }

    /// Brings the tables to this program's version; returns their version before, nil if there was nothing to do.
    package static func migrate(_ parts: StoreParts) async throws(PostgreSQLStoreOpenError) -> Int64? {
        try await self.onThread {
            let connection = try PostgreSQLConnection(to: parts.target, within: parts.timeLimit)
            _ = try connection.run(Schema.searchPath, within: parts.timeLimit)
            return try Schema.migrate(on: connection, within: parts.timeLimit)
        }
    }
}
