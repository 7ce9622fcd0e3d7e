internal import AttestationVerifier
internal import Evidence
internal import Logging
internal import Secrets
internal import Statements
internal import Transport
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Verifies a wallet's device proof.
    ///
    /// Later calls on this connection act for that wallet.
    mutating func openSession(_ call: OpenSession) async throws -> CallResult {
        let release = try self.machine.receiveOpenSession()
        try self.requireLease()
        _ = try OpenSessionBody(decoding: call.body)
        self.log.namedWallet = call.walletID
        let arrival = self.server.time.now()
        let statement = Statement(
            .session,
            channelBinding: self.channelBinding,
            walletID: call.walletID,
            body: call.body
        )
        for _ in 0..<Self.identityAttempts {
            let proven = try await self.verify(call, statement: statement, arrival: arrival)
            let keys = try await self.keys(of: call.walletID, proven, release)
            // The keys are not wiped in between, since no other task has them yet.
            let identity = try self.identity(proven.identity, with: keys)
            if let result = try await self.begin(identity, proven, keys, release: release) { return result }
            // The wallet's identity has changed, and the proof might not match the new one. Start over.
        }
        throw CallFailure.contended
    }

    /// Returns the identity that the proof is valid for, along with the proof's counter.
    private func verify(
        _ call: OpenSession,
        statement: Statement,
        arrival: ContinuousClock.Instant
    ) async throws -> ProvenIdentity {
        let devices = self.server.devices
        guard let stored = try await self.server.store.identity(of: call.walletID) else {
            // Make the same check as for an existing wallet.
            _ = devices.proofs.check(call.deviceProof, of: statement, by: devices.decoy.open())
            await self.waitToReject(since: arrival)  // rule: server-unknown-wallet-rejected-at-once
            throw CallFailure.authentication(.unknownWallet)
        }
        let identity = try self.identity(stored.identity, of: call.walletID)
        switch self.check(call.deviceProof, of: statement, by: identity.record) {
        case .good(let counter):
            return ProvenIdentity(identity: identity, released: stored.released, assertionCounter: counter)
        case .bad:
            await self.waitToReject(since: arrival)  // rule: server-wrong-proof-rejected-at-once
            throw CallFailure.authentication(.deviceProof)
        }
    }

    /// Checks a proof, after which a session of an iPhone stores the counter in a step.
    private func check(
        _ proof: DeviceProof,
        of statement: Statement,
        by identity: IdentityRecord
    ) -> DeviceProofs.Finding {
        let expected = identity.platform == .iOS ? self.server.store.expectedSteps : nil
        expected?.begin()
        // Ends before a rejected proof waits, because the next commit would wait for it.
        defer { expected?.end() }
        return self.server.devices.proofs.check(proof, of: statement, by: identity)
    }

    /// Waits until a rejected proof may be answered: a multiple of ``rejectionInterval`` after the call's arrival.
    ///
    /// The two kinds of rejection differ by a few microseconds of work, such as decoding the wallet's row. Without this
    /// wait, an attacker could tell from many answers whether a wallet id exists.
    private func waitToReject(since arrival: ContinuousClock.Instant) async {
        let intervals = (self.server.time.now() - arrival) / Self.rejectionInterval
        // The sleep is cancelled when the server stops.
        try? await self.server.time.sleepUntil(arrival + Self.rejectionInterval * Int(intervals + 1))
    }

    /// Returns the keys of a wallet whose hardware has signed.
    ///
    /// Invariant: keys are derived after the proof, so no other client causes the vault any work. A wallet that is
    /// revoked or permanently blocked gets none, and can be told so while the vault is unreachable. Neither does a
    /// blocked version, which can then report its wipe.
    private func keys(
        of walletID: WalletID,
        _ proven: ProvenIdentity,
        _ release: ConnectionStateMachine.ShareRelease
    ) async throws(VaultError) -> WalletKeys {
        guard release == .allowed, !proven.released.isEmpty else { return .none(of: walletID) }
        let values = proven.released + [proven.identity.sealedPINKey]
        return try await self.server.vault.keys(of: walletID, opening: values)
    }

    /// Durably stores the proof's counter and opens the session; returns nil if the identity, or the wallet's right to
    /// keys, is no longer current.
    private mutating func begin(
        _ identity: OpenedIdentity,
        _ proven: ProvenIdentity,
        _ keys: WalletKeys,
        release: ConnectionStateMachine.ShareRelease
    ) async throws -> CallResult? {
        let (server, now, walletID) = (self.server, self.server.clock.now(), keys.wallet)
        self.instructionLock = server.registry.join(self.handle, with: keys)
        let session = NewSession(
            walletID: walletID,
            identity: identity.sealed,
            assertionCounter: proven.assertionCounter,
            policy: server.terms.rules.attempts,
            now: now
        )
        switch try await server.store.beginSession(session) {
        case .active(let pinKeyID, let pinState, let sealedShare, let sealedNext, let version, let attempts):
            let receiptKeys = try server.receiptKeys(upTo: version)
            if pinState == .blockedPermanently { keys.wipe() } else if proven.released.isEmpty { return nil }
            if pinState == .blockedPermanently {  // rule: block-told-by-session-before-record
                await self.blockedPermanently(walletID)
            }
            var (share, next): (Share?, Share?)
            if release == .allowed, pinState != .blockedPermanently, let sealedShare {
                share = try self.share(sealedShare, as: .presenceShare, with: keys)
                next = self.nextShare(sealedNext, as: .presenceShare, with: keys)
            }
            self.sessionOpened(
                identity,
                keys,
                at: now,
                nextPresenceShare: next == nil ? nil : sealedNext
            )
            let wallet = ActiveWallet(
                pinKeyID: pinKeyID,
                pinState: pinState,
                attempts: attempts,
                features: server.terms.features(of: walletID),
                presenceShare: share,
                nextPresenceShare: next,
                receiptKeys: receiptKeys
            )
            return .openSession(.active(wallet))
        case .revoked(let revocation):
            keys.wipe()
            self.sessionOpened(identity, keys, at: now)
            return .openSession(.revoked(revocation))
        case .counterNotIncreased:
            throw CallFailure.authentication(.assertionCounter)
        case .identityChanged:
            return nil
        }
    }

    private mutating func sessionOpened(
        _ identity: OpenedIdentity,
        _ keys: WalletKeys,
        at now: Timestamp,
        nextPresenceShare: Sealed? = nil
    ) {
        let (end, walletID) = (now + self.server.terms.rules.sessionLifetime, keys.wallet)
        var session = ConnectionStateMachine.Session(identity: identity, keys: keys, endsAt: end)
        session.offered.presence = nextPresenceShare
        self.machine.sessionOpened(session)
        let summary = self.app.map {
            SessionSummary(walletID: walletID, source: self.source, since: now, app: $0, activity: self.activity)
        }
        self.connection.sessionOpened()
        self.server.registry.sessionOpened(of: walletID, on: self.handle.id, until: end, summary)
        self.server.lastSessions.record(walletID, at: now)
        self.log.wallet = walletID
        self.log.debug("session opened")
    }
}

/// The outer layer of an identity whose hardware has just signed.
///
/// Includes the counter of an App Attest assertion, which has not been stored yet.
struct ProvenIdentity {
    let identity: OpenedIdentity
    /// The values that the session may release (``StoredIdentity/released``).
    let released: [Sealed]
    let assertionCounter: UInt32?
}

/// Verifies device proofs.
struct DeviceProofs: Sendable {
    /// The result of a check.
    enum Finding: Equatable {
        /// The proof was made by the hardware key.
        ///
        /// If the proof is an assertion, the store must still check that its counter is greater than the stored one.
        case good(assertionCounter: UInt32?)
        case bad
    }

    /// The identity that a proof is checked against if its form does not match the wallet's identity.
    let decoy: IdentityRecord
    /// Receives the extension data of each proof that a registered key signed.
    let onExtensions: @Sendable (AppAttestExtensions?) -> Void

    /// Checks a proof against an identity.
    ///
    /// The form recorded at registration determines the result. The form of the proof only determines the amount of
    /// work. It is the same for wallets of this platform, wallets of the other platform, and unknown wallets.
    func check(_ proof: DeviceProof, of statement: Statement, by identity: IdentityRecord) -> Finding {
        if let signature = P256Signature(proof.bytes) {
            let subject = identity.platform == .android ? identity : self.decoy
            let isValid = VerifyingKey(subject.hardwareKey)?.isValid(signature, for: statement) ?? false
            return isValid && identity.platform == .android ? .good(assertionCounter: nil) : .bad
        }
        let subject = identity.platform == .iOS ? identity : self.decoy
        let verdict = AssertionVerifier.verify(
            assertion: proof.bytes,
            clientDataHash: statement.digest,
            key: subject.hardwareKey,
            appID: subject.appID,
            // A store operation compares the counter with the last accepted one and stores it durably.
            previousCounter: 0
        )
        guard identity.platform == .iOS, case .success(let data) = verdict else { return .bad }
        self.onExtensions(data.extensions)
        return .good(assertionCounter: data.counter)
    }
}
