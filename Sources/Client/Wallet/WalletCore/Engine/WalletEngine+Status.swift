internal import Vocabulary
internal import WalletFlows
internal import Wire

/// PF1.4 and UC1.2/2.4: what the server says of this version and of this wallet.
extension WalletEngine {
    /// The update verdict of a Hello that nobody has asked for yet, or of a new one.
    func askUpdatePolicy() async throws(Failure) -> Answer {
        if let terms = self.connection?.takeTerms() { return Self.answer(terms) }
        await self.disconnect()
        let connection = try await self.greetedConnection()
        let terms = connection.takeTerms() ?? connection.terms
        await self.tryCompletingPendingWipe()
        return Self.answer(terms)
    }

    /// The status that a session's opening gives, in a new session unless nobody was told of the present one.
    ///
    /// Without the hardware key nothing can be asked in this wallet's name: the app was restored to another phone. And the
    /// server may know the wallet no more: its store was restored to before the registration, or a revoked wallet was
    /// purged. Both go on to the unlock, which finds that nothing opens and offers the reset (SB9).
    func askStatus() async throws(Failure) -> Answer {
        guard let registration = self.store.state.registration else { return .status(.active) }
        guard self.device.hasKey else {
            guard registration.hadSession else { return try self.abandonEnrollment() }
            return self.lastStatus
        }
        if let connection = self.connection, connection.session != nil, !connection.takeUnreportedSession() {
            await self.disconnect()
        }
        switch try await self.walletSession() {
        case .active(let connection):
            _ = connection.takeUnreportedSession()
            let isOurs = connection.session.map { registration.pair($0.pinKeyID) != nil } ?? false
            if !registration.hadSession, !isOurs { return try self.abandonEnrollment() }
            return .status(.active)
        case .revoked(let revocation):
            return .status(.revoked(revocation))
        case .notKnown:
            // Without a session within a day the server has removed the registration.
            if !registration.hadSession { return try self.abandonEnrollment() }
            return self.lastStatus
        }
    }

    /// What the server said last.
    private var lastStatus: Answer { .status(self.store.serverState.lastRevocation.map { .revoked($0) } ?? .active) }

    /// The next enrollment begins with a new token.
    ///
    /// Nothing else is touched: the new registration replaces the old one only when the server has answered it.
    private func abandonEnrollment() throws(Failure) -> Answer {
        try self.change { $0.enrollment = nil }
        return .status(.mustEnrollAnew)
    }

    private static func answer(_ terms: ServerTerms) -> Answer {
        .updatePolicy(terms.update, solutionRevoked: terms.solutionRevoked)
    }
}
