internal import WalletStore

extension PostgreSQLWalletStore: ServedStore {
    package var isShared: Bool { true }

    /// The number of this server's confirmed commits in the store's epoch.
    package var generation: UInt64 { self.confirmed.total }

    package var waitingSteps: Int { self.judging.count + self.transactions.count }
}
