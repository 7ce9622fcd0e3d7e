internal import WalletFlows
internal import Secrets
internal import Statements
internal import Transport
internal import Vocabulary
internal import Wire

/// PF2.9/1.5 during setup: creates a hardware key, has it attested, registers, and opens the first session.
///
///     token ──▶ hardware key and evidence, written ──▶ Register ──▶ slots and data, written ──▶ first session
///       ▲                                                 │                                        │
///       └──────────── challenge-invalid, once ────────────┴────── another PIN key than ours ───────┘
///
/// The token is kept until the first session. If the answer to a registration is lost, the registration can be repeated
/// with the same token and hardware key at no cost.
extension WalletEngine {
    func enroll(_ entry: PINEntry) async throws -> Answer {
        try await self.completePendingWipe()
        var last = Failure.local(.registrationReplaced)
        for _ in 0..<2 {
            let enrollment = try await self.enrollment()
            switch try await self.register(entry, enrollment) {
            case .done: return .enrolled
            case .beginAnew(let failure):
                last = failure
                try self.change { $0.enrollment = nil }
            }
        }
        throw last
    }

    private enum Outcome {
        case done
        /// The token can no longer be used.
        case beginAnew(Failure)
    }

    /// Returns the stored enrollment if its token is still valid, or starts a new one.
    private func enrollment() async throws -> PendingEnrollment {
        if let pending = self.store.state.enrollment, pending.expiresAtMs > self.clock.now().milliseconds,
            self.device.hasKey
        {
            return pending
        }
        let begun: Enrollment
        switch try await self.callWithRetry({ _ in .beginEnrollment }) {
        case .beginEnrollment(let enrollment): begun = enrollment
        case .refused(let refusal): throw Failure(refusal)
        default: throw Failure.local(.replyUnexpected)
        }
        let challenge = Vocabulary.SHA256Digest.of(begun.token)
        let evidence = try await self.device.createKey(challenge: challenge)
        guard let stored = StoredEvidence(evidence) else { throw Failure.local(.deviceFormat) }
        let enrollment = PendingEnrollment(
            token: StoredBytes(begun.token),
            walletID: begun.walletID,
            expiresAtMs: begun.expiresAt.milliseconds,
            evidence: stored
        )
        try self.change { $0.enrollment = enrollment }
        return enrollment
    }

    /// Registers a new pair for the PIN and opens the first session.
    private func register(_ entry: PINEntry, _ enrollment: PendingEnrollment) async throws -> Outcome {
        var id = PINKeyID.random()
        var salt = SecretBytes.random(count: PINKey.saltByteCount)
        let result = try await self.callWithRetry { connection in
            // Use a new id for each message, so that the id returned by the first session tells us which message the
            // server has registered.
            id = .random()
            salt = .random(count: PINKey.saltByteCount)
            return try await self.registration(entry, id: id, salt: salt, enrollment, on: connection)
        }
        switch result {
        case .register(let registration):
            let answeredOn = self.connection
            try self.saveRegistration(registration, entry, id: id, salt: salt, walletID: enrollment.walletID)
            return try await self.openFirstSession(after: answeredOn, entry)
        case .refused(let refusal) where refusal.reason == .challengeInvalid:
            return .beginAnew(Failure(refusal))
        case .refused(let refusal): throw Failure(refusal)
        default: throw Failure.local(.replyUnexpected)
        }
    }

    private func registration(
        _ entry: PINEntry,
        id: PINKeyID,
        salt: borrowing SecretBytes,
        _ enrollment: PendingEnrollment,
        on connection: WalletConnection
    ) async throws -> Call {
        let walletID = enrollment.walletID
        let key = entry.withPIN { PINKey(pin: $0, salt: salt) }
        let body = RegisterBody(
            pinPublicKey: key.publicKey,
            pinKeyID: id,
            attestation: enrollment.evidence.attestation,
            device: DeviceFacts(
                appVersion: self.appVersion,
                osVersion: self.osVersion,
                model: DeviceText(self.device.model)
            )
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(purpose, channelBinding: connection.channel.channelBinding, walletID: walletID, body: body)
        }
        let signature = key.sign(statement(.registerPIN))
        let proof = try await self.proof(of: statement(.registerDevice))
        return .register(
            Register(token: enrollment.token.bytes, body: body, pinSignature: signature, deviceProof: proof)
        )
    }

    /// Creates the data key and its slot.
    ///
    /// The access data is written first. Writing the state commits the registration.
    private func saveRegistration(
        _ registration: Registration,
        _ entry: PINEntry,
        id: PINKeyID,
        salt: borrowing SecretBytes,
        walletID: WalletID
    ) throws {
        let share = registration.unlockShare
        let dataKey = SecretBytes.random(count: 32)
        let accessData = AccessData(
            shareCheck: SlotKeys.checkValue(share: share),
            deletionCode: registration.deletionCode
        )
        let pair = PINPair.make(for: entry, id: id, salt: salt, dataKey: dataKey, share: share, walletID: walletID)
        let sealed = accessData.sealed(under: dataKey, walletID: walletID)
        try self.store.saveAccessData(sealed)
        // Do this before the commit, because the numbers of a different wallet would contradict this one's.
        let now = self.clock.now()
        self.store.changeReceipts { $0 = ReceiptRecord(registeredWith: registration.receiptKeys, at: now) }
        try self.change { state in
            state.registration = LocalRegistration(
                walletID: walletID,
                pairs: [pair],
                progress: .registered,
                hadSession: false
            )
        }
        let unlocked = UnlockedKeys(dataKey: dataKey, accessData: accessData)
        unlocked.unlockShare = share
        unlocked.pairID = id
        self.unlocked = unlocked
    }

    /// Opens the first session, which tells us which PIN key is registered.
    ///
    /// Until then, it may still be replaced by a delayed duplicate of the registration.
    ///
    /// - Parameter registering: The connection that the registration was confirmed on. The peer on this connection has
    ///   sent the unlock share. On any other connection, the presence share is not proven yet.
    private func openFirstSession(after registering: WalletConnection?, _ entry: PINEntry) async throws -> Outcome {
        let opening: Opening
        do {
            opening = try await self.walletSession()
        } catch {
            self.lock()
            throw error
        }
        switch opening {
        case .active(let connection):
            if self.store.state.registration?.hadSession == true {
                if connection === registering {
                    self.unlocked?.presenceShare = connection.session?.presenceShare
                } else {
                    // A right PIN does not cost an attempt. If this check does not prove anything, the next one will.
                    // Until then, we cannot create a biometric slot.
                    _ = try? await self.checkPIN(entry)
                }
                return .done
            }
            self.lock()
            return .beginAnew(.local(.registrationReplaced))
        case .revoked(let revocation):
            self.lock()
            throw Failure.revoked(revocation)
        case .notKnown(let refusal):
            self.lock()
            return .beginAnew(Failure(refusal))
        }
    }

    /// Sends a call outside of a session, once more if the connection is lost or the proof is rejected.
    private func callWithRetry(_ make: (WalletConnection) async throws -> Call) async throws -> CallResult {
        var failure = Failure.serverUnreachable(notCounted: true)
        for attempt in 0..<2 {
            let connection = try await self.greetedConnection()
            let call = try await make(connection)
            let result: CallResult
            do {
                result = try await self.call(call, on: connection)
            } catch {
                failure = Failure(error, notCounted: true)
                continue
            }
            guard case .refused(let refusal) = result, refusal.reason == .authenticationFailed, attempt == 0 else {
                return result
            }
            await self.disconnect()
        }
        throw failure
    }
}

extension StoredEvidence {
    init?(_ evidence: DeviceEvidence) {
        switch evidence {
        case .android(let certificates): self = .android(certificates: certificates.map(StoredBytes.init))
        case .apple(let object, let keyID):
            guard let keyID = Vocabulary.SHA256Digest(keyID) else { return nil }
            self = .apple(object: StoredBytes(object), keyID: keyID)
        }
    }

    var attestation: Attestation {
        switch self {
        case .android(let certificates): .android(certificates: certificates.map(\.bytes))
        case .apple(let object, let keyID): .apple(object: object.bytes, keyID: keyID)
        }
    }
}

/// UC3.1/1.4: links the user's recovery code to the registration, authorized by the PIN.
extension WalletEngine {
    /// Links the code, then records durably that the wallet has an identity.
    ///
    /// The answer alone does not prove enough to change any files. If the code was linked, the PIN is right. Checking
    /// the same PIN on the same connection then does not cost an attempt, and its share proves that the answer came
    /// from the server.
    func linkRecoveryCode(_ code: RecoveryCode, paidBy entry: PINEntry) async throws -> Answer {
        let outcome = try await self.instruct(.linkRecoveryCode(code), paidBy: entry)
        switch outcome.result {
        case .recoveryCodeLinked: break
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .pinChanged, .deletionCode: throw Failure.local(.replyUnexpected)
        }
        if !outcome.connection.isServerProven {
            _ = try await self.checkPIN(entry)
            // If the check was made on a different connection, it only proves who the peer is there, so the user has to
            // try again.
            guard outcome.connection.isServerProven else { throw Failure.serverUnreachable(notCounted: true) }
        }
        try self.change { $0.registration?.hasPID = true }
        return .recoveryCodeLinked
    }
}

/// UC9.4: local data is deleted immediately.
///
/// The wallet id and the hardware key are kept until the server has confirmed the report.
extension WalletEngine {
    func wipe() async throws -> Answer {
        self.lock()
        (self.attemptHint, self.pinState) = (nil, nil)
        let walletID = self.store.state.registration?.walletID ?? self.store.state.unreportedWipe
        // After a restore to another phone, the wallet cannot report the wipe. The user can revoke it on the server
        // with the deletion code.
        let pending = self.device.hasKey ? walletID : nil
        // A single write makes everything unreadable, because the access data cannot be opened without the slots.
        try self.store.save(LocalState(unreportedWipe: pending))
        // Only do this after that write. As long as the old state exists, the item may be the only way to open it.
        try? self.removeItems(except: nil)  // rule: wallet-wipe-leaves-items
        try self.store.removeAccessData()
        self.store.forgetServerState()
        guard pending != nil else {
            try? await self.device.deleteKey()
            return .wiped(serverTold: walletID == nil)
        }
        // The server's answers to the report are cached as well, so drop those too.
        defer { self.store.forgetServerState() }
        do {
            try await self.completePendingWipe()
            return .wiped(serverTold: true)
        } catch {
            return .wiped(serverTold: false)
        }
    }

    /// Deletes a wallet whose files are unusable.
    static func reset(_ disk: any LocalDisk, _ device: any Device) async throws {
        for name in try device.keychain.names() where KeychainItemID.belongsToWallet(name) {
            try device.keychain.remove(name)
        }
        try LocalStore.removeAll(disk)
        try await device.deleteKey()
    }

    /// Reports a pending wipe when the app is launched, if the server can be reached.
    func tryCompletingPendingWipe() async {
        guard self.store.state.unreportedWipe != nil else { return }
        // If this fails, we try again at the next launch.
        try? await self.completePendingWipe()
    }

    /// Reports a pending wipe and deletes the hardware key, since a new enrollment creates its own.
    ///
    /// If the connection or session ends before the server has answered, the report is repeated once on a new
    /// connection.
    func completePendingWipe() async throws {
        guard let pending = self.store.state.unreportedWipe else { return }
        guard self.device.hasKey else { return try self.change { $0.unreportedWipe = nil } }
        if try await self.reportWipe(of: pending) != nil, let failure = try await self.reportWipe(of: pending) {
            throw failure
        }
        try self.change { $0.unreportedWipe = nil }
        try? await self.device.deleteKey()
    }

    /// Reports the wipe once.
    ///
    /// Returns nil if nothing is left to report, or a failure that might be resolved by using a new connection.
    private func reportWipe(of walletID: WalletID) async throws -> Failure? {
        let connection: WalletConnection
        switch try await self.openSession(for: walletID) {
        case .active(let opened): connection = opened
        case .revoked(let revocation) where revocation.reason == .solution:
            // The solution might be restored later, and this wallet along with it.
            throw Failure.revoked(revocation)
        case .revoked, .notKnown:
            // The server has no wallet that could still be revoked with this key.
            await self.disconnect()
            return nil
        }
        let result: CallResult
        do {
            result = try await self.call(.reportWipe, on: connection)
        } catch {
            guard error != .malformed else { throw error }
            return Failure(error, notCounted: true)
        }
        await self.disconnect()
        switch result {
        case .reportWipe: return nil
        case .refused(let refusal) where refusal.reason == .sessionRequired: return Failure(refusal)
        case .refused(let refusal): throw Failure(refusal)
        case .hello, .beginEnrollment, .register, .openSession, .instruct, .judged, .revokeWithCode, .confirmShares:
            throw Failure.local(.replyUnexpected)
        }
    }
}
