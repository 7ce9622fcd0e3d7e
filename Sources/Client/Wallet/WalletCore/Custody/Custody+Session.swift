internal import DeviceInterface
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

extension Custody {
    /// The present connection, or a new one with its Hello done.
    func greetedLink() async throws(Failure) -> Link {
        if let link = self.link { return link }
        guard self.device.hasNetwork else { throw .noInternet }
        let line: any ServerLine
        do throws(DialError) {
            line = try await self.dialer.dial()
        } catch {
            throw Failure(error)
        }
        let hello = Hello(appVersion: self.appVersion, platform: self.device.platform, osVersion: self.osVersion)
        let opening = await self.earlyOpening(on: line)
        let answers = await line.callInOrder([.hello(hello)] + (opening.map { [.openSession($0)] } ?? []))
        switch answers[0] {
        case .success(.hello(let terms)):
            self.remember(terms)
            let early = opening.map { Link.EarlyOpening(walletID: $0.walletID, answer: answers[1]) }
            let link = Link(line: line, terms: terms, earlyOpening: early)
            self.link = link
            return link
        case .success(.refused(let refusal)):
            await line.close()
            throw Failure(refusal)
        case .success(.beginEnrollment), .success(.register), .success(.openSession), .success(.instruct),
            .success(.revokeWithCode), .success(.reportWipe):
            await line.close()
            throw .local
        case .failure(let error):
            await line.close()
            throw Failure(error, notCounted: true)
        }
    }

    /// A wallet that had its first session will want the next one: its OpenSession goes right behind the Hello.
    ///
    /// Not before the first, which would end the time in which the token may be registered again. A proof that cannot be
    /// made fails where the session is asked for.
    private func earlyOpening(on line: any ServerLine) async -> OpenSession? {
        guard let registration = self.store.state.registration, registration.hadSession else { return nil }
        return try? await self.sessionRequest(registration.walletID.value, line.channelBinding)
    }

    /// Sends a call on the link; a lost connection is forgotten, so that the next one is new.
    func call(_ call: Call, on link: Link) async throws(LineError) -> CallResult {
        do throws(LineError) {
            return try await link.line.call(call)
        } catch {
            await self.hangUp()
            throw error
        }
    }

    /// What a session's opening gave.
    enum Opening {
        case active(Link)
        case revoked(Revocation)
        /// The server does not know this wallet, or not by this key. It says no more, so neither do we.
        case notKnown(Refusal)
    }

    /// A session for `walletID` on the present connection, or on a new one.
    ///
    /// A proof that is refused is made once more on a new connection: on iOS its counter may have been overtaken.
    func openSession(for walletID: WalletID) async throws(Failure) -> Opening {
        if let link = self.link, link.session?.walletID == walletID, !link.isSpent { return .active(link) }
        if let link = self.link, link.session != nil || link.isSpent { await self.hangUp() }
        var lastRefusal: Refusal?
        for _ in 0..<2 {
            let hadLink = self.link != nil
            let link = try await self.greetedLink()
            switch try await self.openingAnswer(walletID, on: link) {
            case .success(.openSession(.active(let wallet))):
                let session = Link.Session(
                    walletID: walletID,
                    pinKeyID: wallet.pinKeyID,
                    features: wallet.features,
                    presenceShare: wallet.presenceShare
                )
                link.begin(session)
                return .active(link)
            case .success(.openSession(.revoked(let revocation))):
                // It was the one opening that a connection has; whatever follows needs another one.
                await self.hangUp()
                return .revoked(revocation)
            case .success(.refused(let refusal)) where refusal.reason == .authenticationFailed:
                lastRefusal = refusal
                await self.hangUp()
            case .success(.refused(let refusal)):
                throw Failure(refusal)
            case .success(.hello), .success(.beginEnrollment), .success(.register), .success(.instruct),
                .success(.revokeWithCode), .success(.reportWipe):
                throw .local
            case .failure(let error):
                // A connection that was idle may have ended long ago: that is not the server's silence.
                if !hadLink { throw Failure(error, notCounted: true) }
            }
        }
        guard let lastRefusal else { throw .serverUnreachable(notCounted: true) }
        return .notKnown(lastRefusal)
    }

    /// The answer to an OpenSession: of the one behind the Hello, or of one that is sent now.
    private func openingAnswer(
        _ walletID: WalletID,
        on link: Link
    ) async throws(Failure) -> Result<CallResult, LineError> {
        if let early = link.takeEarlyOpening(of: walletID) {
            if case .failure = early { await self.hangUp() }
            return early
        }
        let request = try await self.sessionRequest(walletID, link.line.channelBinding)
        do throws(LineError) {
            return .success(try await self.call(.openSession(request), on: link))
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
    func ownSession() async throws(Failure) -> Opening {
        guard let registration = self.store.state.registration else { throw .local }
        let opening = try await self.openSession(for: registration.walletID.value)
        switch opening {
        case .active(let link):
            self.store.remember { words in
                words.lastRevocation = nil
                if let features = link.session?.features { words.lastFeatures = features }
            }
            guard !registration.hadSession else { return opening }
            // Another PIN key in the first session: a late duplicate of the registration has won. Enroll anew.
            guard let session = link.session, registration.pair(session.pinKeyID) != nil else { return opening }
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
