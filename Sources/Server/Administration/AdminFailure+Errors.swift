internal import AdminProtocol
internal import StoreMaintenance
internal import Vault
internal import WalletStore

extension AdminFailure {
    /// Translates an error of a command for the operator.
    init(_ error: any Error) {
        switch error {
        case let failure as AdminFailure: self = failure
        case StoreError.unavailable:
            self.init(.unavailable, "The store rejected the command: its disk is full, or the server is stopping.")
        case StoreError.notErased:
            self.init(
                .unavailable,
                "It is done and remains done, but the store's log still contains what was destroyed because its disk "
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
