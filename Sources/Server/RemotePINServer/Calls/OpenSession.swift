internal import Logging
internal import Secrets
internal import Statements
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Lets a wallet's hardware prove itself; what follows on this connection is the wallet's.
    mutating func openSession(_ call: OpenSession) async throws(CallFailure) -> CallResult {
        let release = try self.inOrder { machine throws(OrderViolation) in try machine.receiveOpenSession() }
        do throws(WireError) {
            _ = try OpenSessionBody(decoding: call.body)
        } catch {
            throw .malformed(error)
        }
        let statement = Statement(
            .session,
            channelBinding: self.channelBinding,
            walletID: call.walletID,
            body: call.body
        )
        for _ in 0..<Self.looksAtIdentity {
            let proven = try await self.prove(call, statement: statement)
            if let result = try await self.begin(proven, release: release, of: call.walletID) {
                return result
            }
            // The wallet has another identity now, and the proof may be another's: look again from the start.
        }
        throw .contended
    }

    /// The identity that the proof is good for, with the counter of the proof.
    private func prove(
        _ call: OpenSession,
        statement: Statement
    ) async throws(CallFailure) -> ProvenIdentity {
        let store = self.services.store
        let stored = try await stored { () throws(StoreError) in try await store.identity(of: call.walletID) }
        guard let stored else {
            // The same work as for a wallet that exists, so that time does not tell them apart.
            _ = await self.services.proofs.check(call.deviceProof, of: statement, by: self.services.decoy.open())
            throw .authentication(.unknownWallet)
        }
        let identity = try await self.identity(stored.identity, of: call.walletID)
        switch self.services.proofs.check(call.deviceProof, of: statement, by: identity.record) {
        case .good(let counter):
            return ProvenIdentity(identity: identity, assertionCounter: counter)
        case .bad:
            throw .authentication(.deviceProof)
        }
    }

    /// Takes the proof, durably, and opens the session; nil where the identity is not the current one any more.
    private mutating func begin(
        _ proven: ProvenIdentity,
        release: ConnectionStateMachine.ShareRelease,
        of walletID: WalletID
    ) async throws(CallFailure) -> CallResult? {
        let (services, now) = (self.services, self.services.clock.now())
        self.lane = services.registry.join(self.live, wallet: walletID)
        let session = NewSession(
            walletID: walletID,
            identity: proven.identity.sealed,
            assertionCounter: proven.assertionCounter,
            policy: services.rules.attempts,
            now: now
        )
        switch try await stored({ () throws(StoreError) in try await services.store.beginSession(session) }) {
        case .active(let pinKeyID, let pinState, let sealedShare):
            var share: Share?
            if release == .allowed, pinState != .blockedPermanently, let sealedShare {
                share = try await self.share(sealedShare, as: .presenceShare, of: walletID)
            }
            self.sessionOpened(proven.identity, of: walletID, at: now)
            let wallet = ActiveWallet(
                pinKeyID: pinKeyID,
                pinState: pinState,
                features: services.features(of: walletID),
                presenceShare: share
            )
            return .openSession(.active(wallet))
        case .revoked(let revocation):
            self.sessionOpened(proven.identity, of: walletID, at: now)
            return .openSession(.revoked(revocation))
        case .counterNotIncreased:
            throw .authentication(.assertionCounter)
        case .identityChanged:
            return nil
        }
    }

    private mutating func sessionOpened(_ identity: OpenedIdentity, of walletID: WalletID, at now: Timestamp) {
        let end = now + self.services.rules.sessionLifetime
        self.machine.sessionOpened(ConnectionStateMachine.Session(identity: identity, walletID: walletID, endsAt: end))
        let facts = self.app.map {
            OpenSessionFacts(walletID: walletID, source: self.source, since: now, app: $0, turn: self.turn)
        }
        self.services.registry.sessionOpened(on: self.live.id, until: end, facts)
        self.connection.sessionOpened()
        self.services.lastSessions.note(walletID, at: now)
        self.log[metadataKey: "wallet"] = "\(walletID)"
        self.log.debug("session opened")
    }
}

/// An identity whose hardware has just signed, and the counter of an App Attest assertion that has yet to be stored.
struct ProvenIdentity {
    let identity: OpenedIdentity
    let assertionCounter: UInt32?
}
