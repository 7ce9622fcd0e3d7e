internal import AuditLog
internal import Logging
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// The wallet wiped itself: the same as a revocation by its user, so that nobody uses a copy of its storage.
    mutating func reportWipe() async throws(CallFailure) -> CallResult {
        let (services, now) = (self.services, self.services.clock.now())
        let session = try self.inOrder { machine throws(OrderViolation) in try machine.receiveReportWipe(at: now) }
        try await services.onRecord(
            .wipe,
            by: .wallet,
            ending: session.walletID,
            as: .byUser,
            saying: "wallet wiped",
            log: self.log.ofCall
        ) { () throws(StoreError) in
            try await services.store.recordWipe(of: session.walletID, at: now)
        }
        await services.registry.abortAll(of: session.walletID, except: self.live.id)
        return .reportWipe
    }
}
