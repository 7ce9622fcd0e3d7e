internal import Logging
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Makes the next shares current after the wallet has sealed its data with them, and destroys the old ones.
    ///
    /// The wallet does not name any shares. It confirms those sent on this connection. If another refresh has replaced
    /// them since, nothing changes, and the wallet receives the newer ones with its next unlock. The same applies if
    /// the PIN was changed on another connection in the meantime.
    mutating func confirmShares(_ call: ConfirmShares) async throws -> CallResult {
        let session = try self.machine.receiveConfirmShares(at: self.calledAt)
        let (unlock, presence) = (session.offered.unlock, session.offered.presence)
        guard call.unlock || call.presence, !call.unlock || unlock != nil, !call.presence || presence != nil else {
            throw CallFailure.notAllowed(.sharesNotOffered)
        }
        let identity = session.identity
        let resealed = try self.seal(
            identity.record,
            identity.pinKey,
            as: identity.sealedPINKey,
            of: session.walletID
        )
        let confirmation = ShareConfirmation(
            walletID: session.walletID,
            unlock: call.unlock ? unlock : nil,
            presence: call.presence ? presence : nil,
            identity: identity.sealed,
            resealed: resealed.sealed
        )
        switch try await self.server.store.confirm(confirmation) {
        case .replaced:
            self.machine.identityReplaced(by: resealed)
            self.log.debug("shares replaced")
            return .confirmShares
        case .notOffered:
            throw CallFailure.notAllowed(.sharesNotOffered)
        case .revoked(let revocation):
            throw CallFailure.revoked(revocation)
        }
    }
}
