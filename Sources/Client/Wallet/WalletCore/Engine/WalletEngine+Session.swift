internal import DeviceInterface
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

extension WalletEngine {
    /// The present connection, or a new one with its Hello done.
    func greetedConnection() async throws(Failure) -> WalletConnection {
        if let connection = self.connection { return connection }
        guard self.device.hasNetwork else { throw .noInternet }
        let channel: any CallChannel
        do throws(DialError) {
            channel = try await self.dialer.dial()
        } catch {
            throw Failure(error)
        }
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
            .success(.revokeWithCode), .success(.reportWipe):
            await channel.close()
            throw .local
        case .failure(let error):
            await channel.close()
            throw Failure(error, notCounted: true)
        }
    }

    /// A wallet that had its first session will want the next one: its OpenSession goes right behind the Hello.
    ///
    /// Not before the first, which would end the time in which the token may be registered again. A proof that cannot be
    /// made fails where the session is asked for.
    private func earlyOpening(on channel: any CallChannel) async -> OpenSession? {
        guard let registration = self.store.state.registration, registration.hadSession else { return nil }
        return try? await self.sessionRequest(registration.walletID.value, channel.channelBinding)
    }

    /// Sends a call on the connection; a lost connection is forgotten, so that the next one is new.
    func call(_ call: Call, on connection: WalletConnection) async throws(CallChannelError) -> CallResult {
        do throws(CallChannelError) {
            return try await connection.channel.call(call)
        } catch {
            await self.disconnect()
            throw error
        }
    }

    /// What a session's opening gave.
    enum Opening {
        case active(WalletConnection)
        case revoked(Revocation)
        /// The server does not know this wallet, or not by this key. It says no more, so neither do we.
        case notKnown(Refusal)
    }

    /// A session for `walletID` on the present connection, or on a new one.
    ///
    /// A proof that is refused is made once more on a new connection: on iOS its counter may have been overtaken.
    func openSession(for walletID: WalletID) async throws(Failure) -> Opening {
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
                    presenceShare: wallet.presenceShare
                )
                connection.begin(session)
                return .active(connection)
            case .success(.openSession(.revoked(let revocation))):
                // It was the one opening that a connection has; whatever follows needs another one.
                await self.disconnect()
                return .revoked(revocation)
            case .success(.refused(let refusal)) where refusal.reason == .authenticationFailed:
                lastRefusal = refusal
                await self.disconnect()
            case .success(.refused(let refusal)):
                throw Failure(refusal)
            case .success(.hello), .success(.beginEnrollment), .success(.register), .success(.instruct),
                .success(.revokeWithCode), .success(.reportWipe):
                throw .local
            case .failure(let error):
                // A connection that was idle may have ended long ago: that is not the server's silence.
                if !hadConnection { throw Failure(error, notCounted: true) }
            }
        }
        guard let lastRefusal else { throw .serverUnreachable(notCounted: true) }
        return .notKnown(lastRefusal)
    }

    /// The answer to an OpenSession: of the one behind the Hello, or of one that is sent now.
    private func openingAnswer(
        _ walletID: WalletID,
        on connection: WalletConnection
    ) async throws(Failure) -> Result<CallResult, CallChannelError> {
        if let early = connection.takeEarlyOpening(of: walletID) {
            if case .failure = early { await self.disconnect() }
            return early
        }
        let request = try await self.sessionRequest(walletID, connection.channel.channelBinding)
        do throws(CallChannelError) {
            return .success(try await self.call(.openSession(request), on: connection))
        } catch {
            return .failure(error)
        }
    }

    private func sessionRequest(
        _ walletID: WalletID,
        _ channelBinding: ChannelBinding
    ) async throws(Failure) -> OpenSession {
        let body = OpenSessionBody(appVersion: self.appVersion, osVersion: self.osVersion).encoded()
        let proof = try await self.proof(
            of: Statement(.session, channelBinding: channelBinding, walletID: walletID, body: body)
        )
        return OpenSession(walletID: walletID, body: body, deviceProof: proof)
    }

    /// The hardware key's proof of a statement; made when the connection that carries it is ready.
    func proof(of statement: Statement) async throws(Failure) -> DeviceProof {
        let bytes: [UInt8]
        do throws(DeviceError) {
            bytes = try await self.device.prove(statement: statement.bytes)
        } catch {
            throw Failure(error)
        }
        guard let proof = DeviceProof(bytes) else { throw .local }
        return proof
    }

    /// The wallet's own session; ends the time in which its token may be registered again.
    func walletSession() async throws(Failure) -> Opening {
        guard let registration = self.store.state.registration else { throw .local }
        let opening = try await self.openSession(for: registration.walletID.value)
        switch opening {
        case .active(let connection):
            self.store.remember { words in
                words.lastRevocation = nil
                if let features = connection.session?.features { words.lastFeatures = features }
            }
            guard !registration.hadSession else { return opening }
            // Another PIN key in the first session: a late duplicate of the registration has won. Enroll anew.
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

    private func remember(_ terms: ServerTerms) {
        let now = self.clock.now()
        self.store.remember { words in
            words.lastUpdate = RememberedUpdate(verdict: terms.update, receivedAt: now, appVersion: self.appVersion)
            words.attemptPolicy = terms.policy
            // A wallet's own features are what its session says.
            if self.store.state.registration == nil { words.lastFeatures = terms.features }
            if terms.solutionRevoked {
                words.lastRevocation = Revocation(reason: .solution, mayRegisterAnew: false)
            } else if words.lastRevocation?.reason == .solution {
                words.lastRevocation = nil
            }
        }
    }
}
