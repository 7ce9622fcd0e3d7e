/// A store as used by a server: for wallets and maintenance, until it is closed.
package protocol ServedStore: AnyObject, WalletStore, MaintenanceStore {
    /// The generation of the last durable commit, which increases with every commit that changes the store.
    ///
    /// Nil if other servers also change the store.
    var soleGeneration: UInt64? { get }

    /// The number of steps waiting for the next commit.
    var waitingSteps: Int { get }

    /// Rejects further steps, finishes those waiting and closes the files or connections.
    func close() async
}

extension SQLiteWalletStore: ServedStore {
    package var soleGeneration: UInt64? { self.generation }
}
