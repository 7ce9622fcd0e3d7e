internal import Vocabulary
internal import WalletFlows
internal import Wire

/// PF1.4 and UC1.2/2.4: the server's information about the app version and this wallet.
extension WalletEngine {
    /// Returns the update verdict from the last Hello if it has not been reported yet, or sends a new Hello.
    func askUpdatePolicy() async throws -> Answer {
        if let terms = self.connection?.takeTerms() { return Self.answer(terms) }
        await self.disconnect()
        let connection = try await self.greetedConnection()
        let terms = connection.takeTerms() ?? connection.terms
        await self.tryCompletingPendingWipe()
        return Self.answer(terms)
    }

    /// Returns the status reported when a session is opened.
    ///
    /// Opens a new session if the current one has been reported already.
    ///
    /// If the hardware key is missing because the app was restored to another phone, the wallet cannot authenticate.
    /// The server may also have no record of the wallet, because its store was restored to a time before the
    /// registration, or because the wallet was revoked and purged. In both cases, we continue with the unlock, which
    /// will find that nothing can be opened and offer the reset (SB9).  
    func askStatus() async throws -> Answer {
        guard let registration = self.store.state.registration else { return .status(.active) }
        guard self.device.hasKey else {
            guard registration.hadSession else { return try self.abandonEnrollment() }
            return self.cachedStatus
        }
        if let connection = self.connection, connection.session != nil, !connection.takeUnreportedSession() {
            await self.disconnect()
        }
        switch try await self.walletSession() {
        case .active(let connection):
            _ = connection.takeUnreportedSession()
            let hasOurKey = connection.session.map { registration.pair($0.pinKeyID) != nil } ?? false
            if !registration.hadSession, !hasOurKey { return try self.abandonEnrollment() }
            return .status(.active)
        case .revoked(let revocation):
            return .status(.revoked(revocation))
        case .notKnown:
            // The server removes registrations that are not followed by a session within a day.
            if !registration.hadSession { return try self.abandonEnrollment() }
            return self.cachedStatus
        }
    }

    /// Returns the state of the wallet's PIN attempts, which the server reports when a session is opened.
    func askPINState() async throws -> Answer {
        await self.disconnect()
        guard let session = try await self.activeSession().session else { throw Failure.local(.notReady) }
        return .pinState(session.pinState)
    }

    /// The last status received from the server.
    private var cachedStatus: Answer {
        .status(self.store.serverState.lastRevocation.map { .revoked($0) } ?? .active)
    }

    /// Drops the token, so that the next enrollment begins with a new one.
    ///
    /// Everything else is kept, because the old registration is replaced only once the server has confirmed the new
    /// one.
    private func abandonEnrollment() throws -> Answer {
        try self.change { $0.enrollment = nil }
        return .status(.mustEnrollAnew)
    }

    private static func answer(_ terms: ServerTerms) -> Answer {
        .updatePolicy(terms.update, solutionRevoked: terms.solutionRevoked)
    }
}
