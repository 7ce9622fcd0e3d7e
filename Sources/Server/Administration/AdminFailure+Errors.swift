internal import AdminProtocol
internal import StoreMaintenance
internal import Vault
internal import WalletStore

extension AdminFailure {
    /// Converts an error thrown by a command to one that can be shown to the operator.
    ///
    /// - Parameter sharesStore: Whether several servers share the store, which is then a database.
    init(_ error: any Error, sharesStore: Bool) {
        switch error {
        case let failure as AdminFailure: self = failure
        case StoreError.unavailable where sharesStore:
            self.init(
                .unavailable,
                "The command is not complete: the database does not answer, as during a failover, or rejects a step, "
                    + "or this server is stopping. Earlier steps remain done. The server's log has the reason. Repeat "
                    + "the command."
            )
        case StoreError.unavailable:
            self.init(.unavailable, "The store rejected the command: its disk is full, or the server is stopping.")
        case StoreError.outcomeUnknown:
            self.init(
                .unavailable,
                "It is unknown whether it was done: the database did not confirm the commit. Look at the state, and "
                    + "repeat the command."
            )
        case StoreError.notErased:
            self.init(
                .unavailable,
                "It is done and remains done, but the store's log still contains the destroyed values because its disk "
                    + "is full. Free some space and repeat the command."
            )
        case StoreError.corrupt: self.init(.internal, "The store contains data that this server did not write.")
        case VaultError.unreachable: self.init(.unavailable, "The vault did not answer.")
        case VaultError.notOurs:
            self.init(.internal, "The vault cannot open a value of the store; is its key file the right one?")
        case MaintenanceFailure.notAllowed(let message): self.init(.notAllowed, message)
        case MaintenanceFailure.unavailable(let message): self.init(.unavailable, message)
        default: self.init(.internal, "Unexpected failure: \(error).")
        }
    }
}
