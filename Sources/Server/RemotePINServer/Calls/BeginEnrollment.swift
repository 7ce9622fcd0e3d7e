internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Issues an enrollment token.
    ///
    /// The server stores nothing until the token is returned with evidence.
    mutating func beginEnrollment() async throws -> CallResult {
        try self.machine.receiveEnrollment()
        guard try await !self.server.store.isSolutionRevoked() else { throw CallFailure.revoked(.solution) }
        let token = EnrollmentToken.begin(
            at: self.server.clock.now(),
            lifetime: self.server.terms.rules.tokenLifetime
        )
        let bytes = try await token.sealed(by: self.server.vault)
        if !self.machine.isInSession { self.connection.enrollmentBegun() }
        return .beginEnrollment(Enrollment(token: bytes, walletID: token.walletID, expiresAt: token.expiresAt))
    }
}

extension Revocation {
    /// The revocation that applies to every wallet until an operator restores the solution.
    ///
    /// No wallet can be registered until then.
    static let solution = Revocation(reason: .solution, mayRegisterAnew: false)
}
