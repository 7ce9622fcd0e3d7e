internal import DeviceInterface
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// Connections and sessions.
extension WalletEngine {
    /// Returns the current connection, or opens a new one and sends a Hello.
    func greetedConnection() async throws -> WalletConnection {
        if let connection = self.connection { return connection }
        guard self.device.hasNetwork else { throw Failure.noInternet }
        let channel = try await self.dialer.dial()
        let hello = Hello(appVersion: self.appVersion, platform: self.device.platform, osVersion: self.osVersion)
        let opening = await self.earlyOpening(on: channel)
        let answers = await channel.callInOrder([.hello(hello)] + (opening.map { [.openSession($0)] } ?? []))
        switch answers[0] {
        case .success(.hello(let terms)):
            self.remember(terms)
            let early = opening.map { WalletConnection.EarlyOpening(walletID: $0.walletID, answer: answers[1]) }
            let connection = WalletConnection(channel: channel, terms: terms, earlyOpening: early)
            self.connection = connection
            return connection
        case .success(.refused(let refusal)):
            await channel.close()
            throw Failure(refusal)
        case .success(.beginEnrollment), .success(.register), .success(.openSession), .success(.instruct),
            .success(.judged), .success(.revokeWithCode), .success(.reportWipe), .success(.confirmShares):
            await channel.close()
            throw Failure.local(.replyUnexpected)
        case .failure(let error):
            await channel.close()
            throw Failure(error, notCounted: true)
        }
    }

    /// Returns the OpenSession to send directly after the Hello, if the wallet has already had its first session.
    ///
    /// The first session is never opened early, because the token cannot be registered again after that. Returns nil if
    /// the proof cannot be made; the error is then thrown when the session is needed.
    private func earlyOpening(on channel: any CallChannel) async -> OpenSession? {
        guard let registration = self.store.state.registration, registration.hadSession else { return nil }
        return try? await self.sessionRequest(registration.walletID.value, channel.channelBinding)
    }

    /// Sends a call.
    ///
    /// A lost connection is dropped, so that the next call opens a new one.
    func call(_ call: Call, on connection: WalletConnection) async throws(CallChannelError) -> CallResult {
        do {
            return try await connection.channel.call(call)
        } catch {
            await self.disconnect()
            throw error
        }
    }

    /// The result of opening a session.
    enum Opening {
        case active(WalletConnection)
        case revoked(Revocation)
        /// The server does not know the wallet, or knows it with a different key.
        ///
        /// The refusal does not say which.
        case notKnown(Refusal)
    }

    /// Opens a session for `walletID` on the current connection or a new one.
    ///
    /// If the proof is rejected, this method tries once more on a new connection. On iOS, a later proof may have been
    /// received first, which invalidates the counter of this one.
    func openSession(for walletID: WalletID) async throws -> Opening {
        if let connection = self.connection, connection.session?.walletID == walletID, !connection.hasSessionEnded {
            return .active(connection)
        }
        if let connection = self.connection, connection.session != nil || connection.hasSessionEnded {
            await self.disconnect()
        }
        var lastRefusal: Refusal?
        for _ in 0..<2 {
            let hadConnection = self.connection != nil
            let connection = try await self.greetedConnection()
            switch try await self.openingAnswer(walletID, on: connection) {
            case .success(.openSession(.active(let wallet))):
                let session = WalletConnection.Session(
                    walletID: walletID,
                    pinKeyID: wallet.pinKeyID,
                    features: wallet.features,
                    pinState: wallet.pinState,
                    presenceShare: wallet.presenceShare,
                    nextPresenceShare: wallet.nextPresenceShare
                )
                connection.begin(session)
                if walletID == self.store.state.registration?.walletID.value { self.adopt(wallet) }
                return .active(connection)
            case .success(.openSession(.revoked(let revocation))):
                // Only one OpenSession is allowed per connection, so the next call needs a new one.
                await self.disconnect()
                return .revoked(revocation)
            case .success(.refused(let refusal)) where refusal.reason == .authenticationFailed:
                lastRefusal = refusal
                await self.disconnect()
            case .success(.refused(let refusal)):
                throw Failure(refusal)
            case .success(.hello), .success(.beginEnrollment), .success(.register), .success(.instruct),
                .success(.judged), .success(.revokeWithCode), .success(.reportWipe), .success(.confirmShares):
                throw Failure.local(.replyUnexpected)
            case .failure(let error):
                // An idle connection may have been closed long ago, so this does not mean that the server is
                // unreachable.
                if !hadConnection { throw Failure(error, notCounted: true) }
            }
        }
        guard let lastRefusal else { throw Failure.serverUnreachable(notCounted: true) }
        return .notKnown(lastRefusal)
    }

    /// Returns the answer to the OpenSession that was sent early, or sends one now.
    private func openingAnswer(
        _ walletID: WalletID,
        on connection: WalletConnection
    ) async throws -> Result<CallResult, CallChannelError> {
        if let early = connection.takeEarlyOpening(of: walletID) {
            if case .failure = early { await self.disconnect() }
            return early
        }
        let request = try await self.sessionRequest(walletID, connection.channel.channelBinding)
        do {
            return .success(try await self.call(.openSession(request), on: connection))
        } catch {
            return .failure(error)
        }
    }

    private func sessionRequest(_ walletID: WalletID, _ channelBinding: ChannelBinding) async throws -> OpenSession {
        let body = OpenSessionBody(appVersion: self.appVersion, osVersion: self.osVersion).encoded()
        let proof = try await self.proof(
            of: Statement(.session, channelBinding: channelBinding, walletID: walletID, body: body)
        )
        return OpenSession(walletID: walletID, body: body, deviceProof: proof)
    }

    /// Proves a statement with the hardware key.
    ///
    /// Called once the connection for sending the proof is ready.
    func proof(of statement: Statement) async throws -> DeviceProof {
        guard let proof = DeviceProof(try await self.device.prove(statement: statement.bytes)) else {
            throw Failure.local(.deviceFormat)
        }
        return proof
    }

    /// Opens a session for this wallet.
    ///
    /// After the first one, its token cannot be registered again.
    func walletSession() async throws -> Opening {
        guard let registration = self.store.state.registration else { throw Failure.local(.notReady) }
        let opening = try await self.openSession(for: registration.walletID.value)
        switch opening {
        case .active(let connection):
            self.store.remember { cached in
                cached.lastRevocation = nil
                if let features = connection.session?.features { cached.lastFeatures = features }
            }
            guard !registration.hadSession else { return opening }
            // If the first session has a different PIN key, it was replaced by a delayed duplicate of the registration,
            // so we have to enroll again.
            guard let session = connection.session, registration.pair(session.pinKeyID) != nil else { return opening }
            try self.change { state in
                state.registration?.hadSession = true
                state.enrollment = nil
            }
        case .revoked(let revocation):
            self.store.remember { $0.lastRevocation = revocation }
        case .notKnown:
            break
        }
        return opening
    }

    /// Returns a connection that has a session for this wallet.
    ///
    /// Throws if the wallet is revoked or unknown.
    func activeSession() async throws -> WalletConnection {
        switch try await self.walletSession() {
        case .active(let connection): return connection
        case .revoked(let revocation): throw Failure.revoked(revocation)
        case .notKnown(let refusal): throw Failure(refusal, .walletUnknown)
        }
    }

    private func remember(_ terms: ServerTerms) {
        let now = self.clock.now()
        self.store.remember { cached in
            cached.lastUpdate = RememberedUpdate(verdict: terms.update, receivedAt: now, appVersion: self.appVersion)
            cached.attemptPolicy = terms.policy
            // The features of a registered wallet are sent with its session.
            if self.store.state.registration == nil { cached.lastFeatures = terms.features }
            if terms.solutionRevoked {
                cached.lastRevocation = Revocation(reason: .solution, mayRegisterAnew: false)
            } else if cached.lastRevocation?.reason == .solution {
                cached.lastRevocation = nil
            }
        }
    }
}
