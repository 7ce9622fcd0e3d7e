internal import WalletStore

extension PostgreSQLWalletStore: ServedStore {
    /// Nil: other servers change the database, too.
    package var soleGeneration: UInt64? { nil }

    package var waitingSteps: Int { self.judging.count + self.transactions.count }
}
