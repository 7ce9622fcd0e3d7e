internal import HostSystem
internal import Logging
internal import Telemetry
internal import Secrets
internal import Statements
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

// The PIN check.
//
//     verify the signatures ─▶ count and judge in one commit ─▶ synced to disk ─▶ answer
//
// Invariant (G3, G4): no verdict on a PIN leaves the server before the attempt's count is on disk. Everything that can
// be verified without the stored PIN key (session, counter, body, signatures) is verified before the store is called.
// The rest is a comparison inside the commit that counts the attempt, and `store.judge` returns only after that
// commit is synced. A crash may therefore cost a user an attempt but never gives an attacker one, and a forged call
// costs no attempt.
extension Conversation {
    /// Judges an entered PIN, and carries out the instruction if the PIN is correct.
    mutating func instruct(_ call: Instruct) async throws -> CallResult {
        let session = try self.machine.receiveInstruct(counter: call.counter, at: self.calledAt)
        try self.requireLease()
        await self.instructionLock?.acquire()
        defer { self.instructionLock?.release() }
        let body = try InstructBody(decoding: call.body)
        try self.verifySignatures(of: call, body: body, for: session.walletID)
        let (result, receipt) = try await self.judge(body, in: session)
        guard let receipt else { return .instruct(result) }
        return .judged(result, receipt)
    }

    /// Verifies the candidate key's signature over the bytes as received.
    ///
    /// If the PIN is being changed, also verifies the new key's signature.
    private func verifySignatures(of call: Instruct, body: InstructBody, for walletID: WalletID) throws {
        self.server.store.expectedSteps.begin()
        defer { self.server.store.expectedSteps.end() }
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: self.channelBinding,
                walletID: walletID,
                counter: call.counter,
                body: call.body
            )
        }
        var newKey: (key: P256PublicKey, signature: P256Signature)?
        switch (body.instruction, call.newPINSignature) {
        case (.changePIN(let key, let id), let signature?):
            guard id != body.pinKeyID else { throw CallFailure.inconsistent(.newKeyIDCurrent) }
            newKey = (key, signature)
        case (.changePIN, nil): throw CallFailure.inconsistent(.newSignatureMissing)
        case (_, _?): throw CallFailure.inconsistent(.newSignatureUnasked)
        case (_, nil): break
        }
        guard VerifyingKey(body.candidate)?.isValid(call.pinSignature, for: statement(.instructPIN)) == true else {
            throw CallFailure.authentication(.pinSignature)
        }
        if let newKey {
            guard VerifyingKey(newKey.key)?.isValid(newKey.signature, for: statement(.newPIN)) == true else {
                throw CallFailure.authentication(.newPINSignature)
            }
        }
    }

    /// Counts and judges the attempt, and answers with its receipt.
    ///
    /// Retries if the wallet's identity has changed in the meantime. A PIN change is not retried in that case, because
    /// it requires a new session.
    private mutating func judge(
        _ body: InstructBody,
        in session: ConnectionStateMachine.Session
    ) async throws -> (InstructResult, Receipt?) {
        var identity = session.identity
        for _ in 0..<Self.identityAttempts {
            let (effect, newIdentity) = try await self.effect(of: body.instruction, on: identity, in: session)
            let attempt = Attempt(
                walletID: session.walletID,
                attemptID: body.attemptID,
                namedKeyID: body.pinKeyID,
                identity: identity.sealed,
                pinKey: session.keys.areWiped ? nil : identity.pinKey,
                candidate: body.candidate,
                effect: effect,
                policy: self.server.terms.rules.attempts,
                now: self.server.clock.now()
            )
            let judged =
                if case .linkRecoveryCode(let bytes) = effect, let code = RecoveryCodeMAC(bytes) {
                    try await self.judge(attempt, linking: code)
                } else {
                    try await self.server.store.judge(attempt)
                }
            switch judged.outcome {
            case .identityChanged:
                // The message was created before the shares were replaced, so the slot for its PIN may be sealed with
                // the old share.
                if case .changePIN = body.instruction { throw OrderViolation.sessionRequired }
                identity = try await self.readAgain(session)
                self.machine.identityReplaced(by: identity, elsewhere: true)
            case .revoked(let revocation):
                throw CallFailure.revoked(revocation)
            case .pinKeyChanged(let current):
                throw CallFailure.pinKeyChanged(current: current)
            case .notValid(let verdict, let hasNextShare):
                // rule: server-wrong-pin-is-faster
                self.imitateRelease(after: body.instruction, hasNextShare: hasNextShare)
                return (try await self.result(of: verdict, on: session.walletID, at: attempt.now), judged.receipt)
            case .valid(let result):
                if let newIdentity { self.machine.identityReplaced(by: newIdentity) }
                let released = try mapError(self.release(result, with: session.keys), to: CallFailure.afterVerdict)
                return (released, judged.receipt)
            }
        }
        throw CallFailure.contended
    }

    /// Returns the identity that another connection or a command has stored, after adding the keys that the session
    /// lacks for it and for the values stored with it.
    ///
    /// Invariant: a rotation replaces a wallet's identity in the same step as its shares, and an identity that has
    /// changed prevents the judgment. So the keys of every value that an instruction may release are at hand before its
    /// PIN is judged, and no judged PIN remains without an answer because the vault is unreachable.
    ///
    /// A session without keys gets none, although data may be released to the wallet: the solution was revoked during
    /// the session, and has been restored since.
    private func readAgain(_ session: ConnectionStateMachine.Session) async throws -> OpenedIdentity {
        guard !session.keys.areWiped else { throw OrderViolation.sessionRequired }
        guard let stored = try await self.server.store.identity(of: session.walletID) else { throw StoreError.corrupt }
        let identity = try self.identity(stored.identity, of: session.walletID)
        let values = stored.released + [identity.sealedPINKey]
        // rule: server-keys-not-fetched
        if !values.allSatisfy(session.keys.hasKey) {
            session.keys.add(try await self.server.vault.keys(of: session.walletID, opening: values))
        }
        return try self.identity(identity, with: session.keys)
    }

    /// Prepares the values that a correct PIN will write, including the new identity if the instruction changes it.
    ///
    /// No key is then needed during the commit. A new PIN key is sealed with a version that is not older than the
    /// active one, since the operator may have rotated the keys after a theft: a session that lacks this version gets
    /// it here, before anything is judged.
    private func effect(
        of instruction: Instruction,
        on identity: OpenedIdentity,
        in session: ConnectionStateMachine.Session
    ) async throws -> (Attempt.Effect, newIdentity: OpenedIdentity?) {
        let (vault, keys) = (self.server.vault, session.keys)
        switch instruction {
        case .checkPIN:
            return (.releaseShare, nil)
        case .changePIN(let newKey, let newKeyID):
            // Without keys, nothing is judged, so there is nothing to write.
            guard let newest = keys.newest else { return (.releaseShare, nil) }
            if newest < vault.activeVersion {  // rule: server-change-under-old-key
                keys.add(try await vault.keys(of: keys.wallet, opening: []))
            }
            let changed = try self.seal(identity.record, newKey, with: keys)
            return (.replacePINKey(identity: changed.sealed, newKeyID: newKeyID), changed)
        case .linkRecoveryCode(let code):
            return (.linkRecoveryCode(mac: vault.mac(code.bytes, for: .recoveryCodeIndex)), nil)
        case .showDeletionCode:
            return (.readDeletionCode, nil)
        }
    }

    /// Opens as many shares as for a correct PIN, so that the response time does not reveal the verdict.
    private func imitateRelease(after instruction: Instruction, hasNextShare: Bool) {
        switch instruction {
        case .checkPIN, .showDeletionCode:
            for _ in 0..<(hasNextShare ? 2 : 1) { self.server.devices.decoy.openShare() }
        case .changePIN, .linkRecoveryCode: break
        }
    }

    /// Reports a verdict other than `valid`.
    ///
    /// At this point, it is durable and may be sent and logged. The attempt that causes a block is answered with
    /// `wrong` and the block. All other attempts during the block are answered with `blocked`.
    private func result(
        of verdict: PINVerdict,
        on wallet: WalletID,
        at now: Timestamp
    ) async throws -> InstructResult {
        switch verdict {
        case .wrong(let state):
            switch state {
            case .open: self.log.debug("wrong PIN")
            case .blocked(let remaining):
                self.server.statistics.calls.noteBlock(isPermanent: false)
                self.log.notice("wallet blocked", metadata: ["remainingMs": "\(remaining.milliseconds)"])
                self.server.onEvent(.blocked(wallet, until: now + remaining))
            case .blockedPermanently:
                self.server.statistics.calls.noteBlock(isPermanent: true)
                self.log.notice("wallet blocked permanently")
                self.server.onEvent(.blockedPermanently(wallet))
                await self.blockedPermanently(wallet)
            }
            return .wrong(state)
        case .blocked(let remaining): return .blocked(remaining: remaining)
        case .blockedPermanently:
            await self.blockedPermanently(wallet)  // rule: block-told-by-attempt-before-record
            return .blockedPermanently
        case .valid: throw StoreError.corrupt
        }
    }

    /// Records a permanent block before an answer reports it.
    ///
    /// When this server learns of the block, it closes the wallet's other connections. It does so only once, because
    /// the calls that are queued on those connections also find the block, and must not close this connection.
    func blockedPermanently(_ wallet: WalletID) async {
        guard await self.server.permanentBlocks.record(wallet, log: self.log.ofCall) else { return }
        await self.server.registry.abortAll(of: [wallet], except: self.handle.id)
    }

    /// Returns the answer to a correct PIN.
    private mutating func release(
        _ effect: AttemptOutcome.Effect,
        with keys: WalletKeys
    ) throws -> InstructResult {
        switch effect {
        case .unlockShare(let sealed, let sealedNext):
            let share = try self.share(sealed, as: .unlockShare, with: keys)
            let next = self.nextShare(sealedNext, as: .unlockShare, with: keys)
            self.machine.unlockShareSent(next: next == nil ? nil : sealedNext)
            return .pinValid(unlockShare: share, next: next)
        case .pinKeyReplaced:
            if let metadata = self.server.limits.pinChangeLog.allow([:]) {
                self.log.info("PIN changed", metadata: metadata)
            }
            return .pinChanged
        case .recoveryCodeLinked:
            return .recoveryCodeLinked
        case .deletionCode(let sealed):
            guard let sealed else { throw CallFailure.notAllowed(.noDeletionCode) }
            return .deletionCode(try self.deletionCode(sealed, with: keys))
        case .linkedToAnother:
            throw CallFailure.notAllowed(.linkedToAnother)
        case .codeDenied:
            // `judge(_:linking:)` has already replaced this outcome with the wallet's revocation.
            throw StoreError.corrupt
        }
    }
}
