internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Hands out a token; nothing is stored until it comes back with evidence.
    mutating func beginEnrollment() async throws(CallFailure) -> CallResult {
        try self.inOrder { machine throws(OrderViolation) in try machine.receiveEnrollment() }
        let (store, vault) = (self.services.store, self.services.vault)
        guard try await !stored({ () throws(StoreError) in try await store.isSolutionRevoked() }) else {
            throw .revoked(.solution)
        }
        let token = EnrollmentToken.begin(
            at: self.services.clock.now(),
            lifetime: self.services.rules.tokenLifetime
        )
        let bytes = try await vaulted { () throws(VaultError) in try await token.sealed(by: vault) }
        return .beginEnrollment(Enrollment(token: bytes, walletID: token.walletID, expiresAt: token.expiresAt))
    }
}

extension Revocation {
    /// Everybody, until an operator takes it back; nobody can register meanwhile.
    static let solution = Revocation(reason: .solution, mayRegisterAnew: false)
}
