/// A store as used by a server: for wallets and maintenance, until it is closed.
package protocol ServedStore: AnyObject, WalletStore, MaintenanceStore {
    /// Whether other servers also change the store.
    var isShared: Bool { get }

    /// The generation of this server's last commit, which is durable: a number that rises with every commit that this
    /// server makes in the store's epoch.
    var generation: UInt64 { get }

    /// Returns the generation of this server's last commit in an earlier epoch that later epochs took into account.
    ///
    /// The later epochs charge for the loss of commits up to this generation. They charge nothing for commits after it.
    func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64

    /// The number of steps waiting for the next commit.
    var waitingSteps: Int { get }

    /// This server's lease, if several servers may use the store; nil for an embedded one.
    var lease: (any ServerLease)? { get }

    /// Rejects further steps, finishes those waiting and closes the files or connections.
    func close() async
}

extension SQLiteWalletStore: ServedStore {
    package var isShared: Bool { false }
    package var lease: (any ServerLease)? { nil }
    package func accountedGeneration(in epoch: Int) async throws(StoreError) -> UInt64 { 0 }
}
