/// A store as a server's program uses it: for wallets, for maintenance, and until it is closed.
package protocol ServedStore: AnyObject, WalletStore, MaintenanceStore {
    /// The generation of the last commit, which is durable: a number that rises with every commit that changes the
    /// store. Nil if other servers change the store, too.
    var soleGeneration: UInt64? { get }

    /// The number of steps that wait for the next commit.
    var waitingSteps: Int { get }

    /// Rejects further steps, finishes the waiting ones and closes the files or connections.
    func close() async
}

extension SQLiteWalletStore: ServedStore {
    package var soleGeneration: UInt64? { self.generation }
}
