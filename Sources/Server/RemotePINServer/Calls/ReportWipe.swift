internal import AuditLog
internal import Logging
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Ends a wallet that has wiped itself, just as if its user had revoked it.
    ///
    /// This makes any copy of its storage useless.
    mutating func reportWipe() async throws -> CallResult {
        let (server, now) = (self.server, self.server.clock.now())
        let wallet = try self.machine.receiveReportWipe(at: now).walletID
        let end = Revocations.End(
            event: .wipe,
            actor: .wallet,
            wallet: wallet,
            revocation: .byWipe,
            message: "wallet wiped"
        )
        try await server.revocations.record(end, log: self.log.ofCall) {
            try await server.store.recordWipe(of: wallet, at: now)
        }
        await server.registry.abortAll(of: [wallet], except: self.handle.id)
        return .reportWipe
    }
}
