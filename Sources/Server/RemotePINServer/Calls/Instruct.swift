internal import BatchVerification
internal import LogLines
internal import Logging
internal import Secrets
internal import Statements
internal import Vault
internal import Vocabulary
internal import WalletStore
internal import Wire

extension Conversation {
    /// Has an entered PIN judged, and does what a right one allows.
    ///
    /// All that can be found without the PIN on file is found before the store is touched: session, counter, body and
    /// signatures. What remains is a comparison inside the step that counts the attempt (G3, G4).
    mutating func instruct(_ call: Instruct) async throws(CallFailure) -> CallResult {
        let now = self.calledAt
        let session = try self.inOrder { machine throws(OrderViolation) in
            try machine.receiveInstruct(counter: call.counter, at: now)
        }
        await self.lane?.enter()
        defer { self.lane?.leave() }
        let body: InstructBody
        do throws(WireError) {
            body = try InstructBody(decoding: call.body)
        } catch {
            throw .malformed(error)
        }
        try await self.checkSignatures(of: call, body: body, for: session.walletID)
        return .instruct(try await self.carryOut(body, in: session))
    }

    /// The candidate's signature, and with a change of the PIN the new key's, over the bytes as they came.
    private func checkSignatures(
        of call: Instruct,
        body: InstructBody,
        for walletID: WalletID
    ) async throws(CallFailure) {
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
            guard id != body.pinKeyID else { throw .inconsistent(.newKeyIDCurrent) }
            newKey = (key, signature)
        case (.changePIN, nil): throw .inconsistent(.newSignatureMissing)
        case (_, _?): throw .inconsistent(.newSignatureUnasked)
        case (_, nil): break
        }
        let isValid =
            if let nonceY = call.pinNonceY {
                await self.signatures.isTrue(
                    SignatureClaim(
                        call.pinSignature,
                        nonceY: nonceY,
                        by: body.candidate,
                        for: statement(.instructPIN).digest
                    )
                )
            } else {
                VerifyingKey(body.candidate)?.isValid(call.pinSignature, for: statement(.instructPIN)) == true
            }
        guard isValid else { throw .authentication(.pinSignature) }
        if let newKey {
            guard VerifyingKey(newKey.key)?.isValid(newKey.signature, for: statement(.newPIN)) == true else {
                throw .authentication(.newPINSignature)
            }
        }
    }

    /// The step, again with the wallet's new identity where the session's is older.
    private mutating func carryOut(
        _ body: InstructBody,
        in session: ConnectionStateMachine.Session
    ) async throws(CallFailure) -> InstructResult {
        var identity = session.identity
        for _ in 0..<Self.looksAtIdentity {
            let (effect, newIdentity) = try await self.effect(of: body.instruction, on: identity, of: session.walletID)
            let attempt = Attempt(
                walletID: session.walletID,
                attemptID: body.attemptID,
                namedKeyID: body.pinKeyID,
                identity: identity.sealed,
                pinKey: identity.record.pinKey,
                candidate: body.candidate,
                effect: effect,
                policy: self.services.rules.attempts,
                now: self.services.clock.now()
            )
            switch try await self.judge(attempt) {
            case .identityChanged(let sealed):
                identity = try await self.identity(sealed, of: session.walletID)
                self.machine.identityReplaced(by: identity)
            case .revoked(let revocation):
                // A link to a denied code has just ended the wallet: what its other connections carry must not outlive the
                // answer (G7).
                if case .linkRecoveryCode = body.instruction, revocation.reason == .recoveryCode {
                    await self.services.registry.abortAll(of: session.walletID, except: self.live.id)
                }
                throw .revoked(revocation)
            case .pinKeyChanged(let current):
                throw .pinKeyChanged(current: current)
            case .notValid(let verdict):
                return try self.result(of: verdict, on: session.walletID, at: attempt.now)
            case .valid(let result):
                if let newIdentity { self.machine.identityReplaced(by: newIdentity) }
                return try await self.release(result, to: session.walletID)
            }
        }
        throw .contended
    }

    /// What a right PIN will write, made before the step so that the step itself needs no key; with it the wallet's
    /// identity from then on, where that changes.
    private func effect(
        of instruction: Instruction,
        on identity: OpenedIdentity,
        of walletID: WalletID
    ) async throws(CallFailure) -> (Attempt.Effect, newIdentity: OpenedIdentity?) {
        switch instruction {
        case .checkPIN:
            return (.releaseShare, nil)
        case .changePIN(let newKey, let newKeyID):
            let record = identity.record.with(pinKey: newKey, id: newKeyID)
            let sealed = try await vaulted { () throws(VaultError) in
                try await self.services.vault.seal(SecretBytes(copying: record.bytes), as: .identity, of: walletID)
            }
            return (
                .replacePINKey(identity: sealed, newKeyID: newKeyID), OpenedIdentity(record: record, sealed: sealed)
            )
        case .linkRecoveryCode(let code):
            let mac = try await vaulted { () throws(VaultError) in
                try await self.services.vault.mac(code, for: .recoveryCodeIndex)
            }
            return (.linkRecoveryCode(mac: mac), nil)
        case .showDeletionCode:
            return (.readDeletionCode, nil)
        }
    }

    /// A verdict that is not `valid`; it is durable, so from here on it may be told and logged.
    ///
    /// `wrong` with a block is that of the attempt which began it: while the block lasts every other one gets `blocked`.
    private func result(
        of verdict: PINVerdict,
        on wallet: WalletID,
        at now: Timestamp
    ) throws(CallFailure) -> InstructResult {
        switch verdict {
        case .wrong(let state):
            switch state {
            case .open: self.log.debug("wrong PIN")
            case .blocked(let remaining):
                self.services.meters.noteBlock(isPermanent: false)
                self.log.notice("wallet blocked", metadata: ["remainingMs": "\(remaining.milliseconds)"])
                self.services.onEvent(.blocked(wallet, until: now + remaining))
            case .blockedPermanently:
                self.services.meters.noteBlock(isPermanent: true)
                self.log.notice("wallet blocked permanently")
                self.services.onEvent(.blockedPermanently(wallet))
            }
            return .wrong(state)
        case .blocked(let remaining): return .blocked(remaining: remaining)
        case .blockedPermanently: return .blockedPermanently
        case .valid: throw .store(.corrupt)
        }
    }

    /// What a right PIN gives.
    private func release(
        _ effect: AttemptOutcome.Effect,
        to walletID: WalletID
    ) async throws(CallFailure) -> InstructResult {
        switch effect {
        case .unlockShare(let sealed):
            return .pinValid(unlockShare: try await self.share(sealed, as: .unlockShare, of: walletID))
        case .pinKeyReplaced:
            if let metadata = self.services.changeLines.take([:]) { self.log.info("PIN changed", metadata: metadata) }
            return .pinChanged
        case .recoveryCodeLinked:
            return .recoveryCodeLinked
        case .deletionCode(let sealed):
            guard let sealed else { throw .notAllowed(.noDeletionCode) }
            return .deletionCode(try await self.deletionCode(sealed, of: walletID))
        case .linkedToAnother:
            throw .notAllowed(.linkedToAnother)
        case .codeDenied:
            // Ended the wallet instead.
            throw .store(.corrupt)
        }
    }
}
