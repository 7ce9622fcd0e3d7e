internal import Secrets
internal import Statements
internal import Transport
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// PF2.8: instructions authorized by a PIN.
extension WalletEngine {
    /// The result of an instruction, and the pair that its PIN was tried with.
    struct InstructionOutcome {
        var result: InstructResult
        var pair: PINPair
        var walletID: WalletID
        var connection: WalletConnection
    }

    /// Sends CheckPIN.
    ///
    /// The wallet is unlocked only if the PIN's slot can be opened.
    ///
    /// In the safe mode, a locked wallet does not send CheckPIN. Its slots are sealed, so it could not tell whether an
    /// answer is genuine.
    func checkPIN(_ entry: PINEntry) async throws -> Answer {
        if self.unlocked == nil, self.store.state.registration?.biometricMode == .safe {
            throw Failure.local(.itemNotOpened)
        }
        let outcome = try await self.instruct(.checkPIN, paidBy: entry)
        switch outcome.result {
        case .pinValid(let share, let next):
            try self.accept(share, of: entry, outcome)
            await self.replaceShares(next: next, of: entry, outcome)
            return .verdict(.valid)
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinChanged, .recoveryCodeLinked, .deletionCode: throw Failure.local(.replyUnexpected)
        }
    }

    /// Sends ShowDeletionCode.
    ///
    /// The wallet does not store the code returned by the server.
    func showDeletionCode(_ entry: PINEntry) async throws -> Answer {
        let outcome = try await self.instruct(.showDeletionCode, paidBy: entry)
        switch outcome.result {
        case .deletionCode(let code): return .deletionCode(code)
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .pinChanged, .recoveryCodeLinked: throw Failure.local(.replyUnexpected)
        }
    }

    static func verdict(_ result: InstructResult) throws -> Answer {
        switch result {
        case .wrong(let state): return .verdict(.wrong(state))
        case .blocked(let remaining): return .verdict(.blocked(remaining: remaining))
        case .blockedPermanently: return .verdict(.blockedPermanently)
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: throw Failure.local(.replyUnexpected)
        }
    }

    /// Accepts a valid PIN if its share proves it, and unlocks the wallet.
    ///
    /// If the share does not open the slot or has a different check value, it did not come from the server, and we do
    /// not change anything.
    private func accept(_ share: Share, of entry: PINEntry, _ outcome: InstructionOutcome) throws {
        let pairID = outcome.pair.id
        let pair = try self.unsealedPair(outcome.pair)
        if let pair {
            let dataKey = try self.open(pair, with: entry, share: share, walletID: outcome.walletID)
            try self.unlock(with: dataKey, of: outcome.walletID)
        } else {
            // rule: wallet-check-value-not-compared
            guard let unlocked = self.unlocked, unlocked.accessData.accepts(share) else {
                throw Failure.local(.shareOpensNothing)
            }
        }
        outcome.connection.markServerProven()
        self.unlocked?.unlockShare = share
        self.unlocked?.pairID = pairID
        self.forgetReplacedCheck(share, of: outcome.walletID)  // rule: wallet-old-share-still-proves
        // This means that anything received earlier on the same connection also came from the server.
        if let session = outcome.connection.session, let share = session.presenceShare {
            self.unlocked?.presenceShare = share
            self.unlocked?.nextPresenceShare = session.nextPresenceShare
        }
        self.change = nil
        // This is just cleaning up. If it fails, the user is not locked out, and we try again at the next unlock.
        if pair != nil { try? self.removeReplacedPairs(keeping: pairID) }
        try? self.renewEndedItem()
        try? self.cleanUpKeychain()
        if self.store.state.registration?.progress == .done {
            try? self.forgetWrittenDownCode(of: outcome.walletID)
        }
    }

    /// Removes all other pairs after a valid PIN has opened the slot of a successor.
    private func removeReplacedPairs(keeping pairID: PINKeyID) throws {
        guard let registration = self.store.state.registration, registration.pairs.first?.id != pairID,
            let pair = registration.pair(pairID)
        else { return }
        try self.change { $0.registration?.pairs = [pair] }
    }

    /// Sends an instruction, opening a session if necessary.
    ///
    /// If the reply is lost, the same entry is sent with the same attempt id on a new connection, automatically up to
    /// twice and then whenever the user tries again.
    func instruct(_ instruction: Instruction, paidBy entry: PINEntry) async throws -> InstructionOutcome {
        guard let outcome = try await self.instruct(paidBy: entry, { _ in (instruction, nil) }) else {
            throw Failure.local(.notReady)
        }
        return outcome
    }

    /// Sends the instruction that `make` returns for the current pair.
    ///
    /// If `make` returns a new PIN, it also signs.
    ///
    /// Returns nil if `make` returns nil because there is nothing to send.
    func instruct(
        paidBy entry: PINEntry,
        _ make: (PINPair) throws -> (Instruction, newPIN: (entry: PINEntry, pair: PINPair)?)?
    ) async throws -> InstructionOutcome? {
        do {
            return try await self.exchange(entry, make)
        } catch {
            if self.unanswered == entry.attemptID, case .serverUnreachable(_, let cause) = Failure(error) {
                throw Failure.serverUnreachable(notCounted: false, cause: cause)
            }
            throw error
        }
    }

    private func exchange(
        _ entry: PINEntry,
        _ make: (PINPair) throws -> (Instruction, newPIN: (entry: PINEntry, pair: PINPair)?)?
    ) async throws -> InstructionOutcome? {
        var failure = Failure.serverUnreachable(notCounted: true)
        for _ in 0..<3 {
            let connection = try await self.activeSession()
            guard let registration = self.store.state.registration, let session = connection.session else {
                throw Failure.local(.notReady)
            }
            guard let pair = registration.pair(session.pinKeyID) else { throw Failure.local(.pinKeyUnknown) }
            guard let (instruction, newPIN) = try make(pair) else { return nil }
            // rule: receipt-send-not-counted
            try self.noteSend()
            let request = self.request(instruction, entry, pair, newPIN, session: session, on: connection)
            let answer: CallResult
            do {
                answer = try await self.call(.instruct(request), on: connection)
            } catch {
                self.unanswered = entry.attemptID  // rule: wallet-lost-attempt-uncounted
                failure = Failure(error, notCounted: false)
                if error == .malformed { throw failure }
                continue
            }
            func outcome(_ result: InstructResult, _ receipt: Receipt?) -> InstructionOutcome {
                let walletID = registration.walletID
                self.unanswered = nil
                self.take(receipt, of: result, to: entry, walletID: walletID)
                return InstructionOutcome(result: result, pair: pair, walletID: walletID, connection: connection)
            }
            switch answer {
            case .instruct(let result): return outcome(result, nil)
            case .judged(let result, let receipt): return outcome(result, receipt)
            case .refused(let refusal): failure = try await self.recover(from: refusal, on: connection)
            default: throw Failure.local(.replyUnexpected)
            }
        }
        throw failure
    }

    /// Prepares for another try if the refusal allows it, or else throws the refusal.
    ///
    /// No PIN was judged.
    private func recover(from refusal: Refusal, on connection: WalletConnection) async throws -> Failure {
        switch refusal.reason {
        case .pinKeyChanged(let current): connection.update(currentPINKey: current)
        case .outOfOrder, .sessionRequired: await self.disconnect()
        case .malformed, .unsupported, .authenticationFailed, .challengeInvalid, .attestationRejected, .notAllowed,
            .revoked, .rateLimited, .unavailable, .internal:
            throw Failure(refusal)
        }
        return Failure(refusal)
    }

    private func request(
        _ instruction: Instruction,
        _ entry: PINEntry,
        _ pair: PINPair,
        _ newPIN: (entry: PINEntry, pair: PINPair)?,
        session: WalletConnection.Session,
        on connection: WalletConnection
    ) -> Instruct {
        let key = pair.key(for: entry)
        let counter = connection.takeCounter()
        let body = InstructBody(
            attemptID: entry.attemptID,
            pinKeyID: pair.id,
            candidate: key.publicKey,
            instruction: instruction
        ).encoded()
        func statement(_ purpose: Purpose) -> Statement {
            Statement(
                purpose,
                channelBinding: connection.channel.channelBinding,
                walletID: session.walletID,
                counter: counter,
                body: body
            )
        }
        return Instruct(
            counter: counter,
            body: body,
            pinSignature: key.sign(statement(.instructPIN)),
            newPINSignature: newPIN.map { $0.pair.key(for: $0.entry).sign(statement(.newPIN)) }
        )
    }
}

/// Replaces the server's shares (docs/protocol.md, Replacing shares).
///
///     next shares received ──▶ slots also under them, durable ──▶ ConfirmShares ──▶ slots under the old ones removed
///
/// Invariant: from the first write until the server's confirmation, every slot can be opened with the old share as well
/// as the next one, so the wallet can be unlocked no matter which of them the server has after a crash or a lost reply.
/// We only use shares from a connection on which a share has opened a slot, because a slot under an impostor's share
/// could never be opened.
///
/// A PIN change that was sent but not answered does not prevent a replacement. The server rejects the change after
/// ConfirmShares, or rejects ConfirmShares if the change has already taken effect.
extension WalletEngine {
    /// Opens a pair's slot, or the one under the next share if the server has replaced the share.
    func open(
        _ pair: PINPair,
        with entry: PINEntry,
        share: Share,
        walletID: WalletID
    ) throws(SealBroken) -> SecretBytes {
        do throws(SealBroken) {
            return try pair.open(with: entry, share: share, walletID: walletID)
        } catch {
            guard pair.nextSlot != nil else { throw error }
            let dataKey = try pair.promoted().open(with: entry, share: share, walletID: walletID)
            self.unlockShareReplaced(in: pair.id)
            return dataKey
        }
    }

    /// Opens the biometric slot, or the one under the next share if the server has replaced the share.
    func open(
        _ biometrics: BiometricSlot,
        with item: OpenedItem,
        share: Share,
        walletID: WalletID
    ) throws(SealBroken) -> SecretBytes {
        do throws(SealBroken) {
            return try biometrics.open(with: item, share: share, walletID: walletID)
        } catch {
            guard biometrics.next != nil else { throw error }
            let dataKey = try biometrics.promoted().open(with: item, share: share, walletID: walletID)
            // If the write fails, it is repeated at the next unlock.
            try? self.change { $0.registration?.biometrics = biometrics.promoted() }
            return dataKey
        }
    }

    /// Also seals the biometric slot under the next presence share, if the session received one.
    ///
    /// If this fails, the replacement has to wait until the next time biometrics are used to unlock.
    func prepareNextPresenceShare(with item: OpenedItem, of walletID: WalletID) {
        guard let unlocked = self.unlocked, let share = unlocked.presenceShare, let next = unlocked.nextPresenceShare,
            var slot = self.store.state.registration?.biometrics, slot.item == item.id, !slot.isPrepared(for: next)
        else { return }
        slot.seal(unlocked.dataKey, with: item, share: share, next: next, walletID: walletID)
        let prepared = slot
        try? self.change { $0.registration?.biometrics = prepared }
    }

    /// Seals the slots under the next shares and confirms those that are ready, right after a valid PIN.
    ///
    /// None of the steps can lock the user out. If one fails, the replacement has to wait for the next valid PIN.
    func replaceShares(next: Share?, of entry: PINEntry, _ outcome: InstructionOutcome) async {
        guard let unlocked = self.unlocked else { return }
        unlocked.nextUnlockShare = next
        var confirmation = ConfirmShares(unlock: false, presence: false)
        if let next { confirmation.unlock = (try? self.prepare(next, for: entry, outcome)) ?? false }
        if let next = unlocked.nextPresenceShare {
            confirmation.presence = self.store.state.registration?.biometrics?.isPrepared(for: next) ?? true
        }
        // Write the state again first. A write that failed may have reached the disk with a slot that can only be
        // opened with the old share.
        guard confirmation.unlock || confirmation.presence, (try? self.store.confirm()) != nil,
            case .confirmShares? = try? await self.call(.confirmShares(confirmation), on: outcome.connection)
        else { return }
        if confirmation.unlock {
            (unlocked.unlockShare, unlocked.nextUnlockShare) = (next, nil)
            self.unlockShareReplaced(in: outcome.pair.id, endsOthers: true)
            if let next { self.forgetReplacedCheck(next, of: outcome.walletID) }
        }
        if confirmation.presence {
            (unlocked.presenceShare, unlocked.nextPresenceShare) = (unlocked.nextPresenceShare, nil)
            outcome.connection.presenceShareReplaced()
            // If the write fails, it is repeated at the next unlock, which opens the slot under the next share.
            let promoted = self.store.state.registration?.biometrics?.promoted()
            try? self.change { $0.registration?.biometrics = promoted }
        }
    }

    /// Seals the PIN's slot under the unlock share and the next one; returns false if a slot cannot be sealed now.
    ///
    /// Both slots are created from scratch. If a write failed after an earlier replacement, the stored slot under the
    /// current share might be missing. In the safe mode, a slot also needs the keychain item, which must have been
    /// opened by a prompt. The slots of PIN changes are left alone, in case a change takes effect before ConfirmShares.
    private func prepare(_ next: Share, for entry: PINEntry, _ outcome: InstructionOutcome) throws -> Bool {
        guard let unlocked = self.unlocked, let share = unlocked.unlockShare,
            let registration = self.store.state.registration, let pair = registration.pair(outcome.pair.id)
        else { return false }
        let walletID = outcome.walletID
        var sealed = pair
        sealed.slot = pair.slot(for: entry, dataKey: unlocked.dataKey, share: share, walletID: walletID)
        sealed.nextSlot = pair.slot(for: entry, dataKey: unlocked.dataKey, share: next, walletID: walletID)
        if registration.biometricMode == .safe {
            guard let item = self.openedItem else { return false }
            sealed = sealed.sealed(under: item, walletID: walletID)
        }
        var accessData = unlocked.accessData
        accessData.shareCheck = SlotKeys.checkValue(share: share)
        accessData.nextShareCheck = SlotKeys.checkValue(share: next)
        try self.save(accessData, of: walletID)
        let pairs = registration.pairs.map { $0.id == sealed.id ? sealed : $0 }
        try self.change { $0.registration?.pairs = pairs }
        return true
    }

    /// Removes the pair's slot under the unlock share that the server has replaced.
    ///
    /// Once the server has answered, the other pairs belong to changes that can no longer take effect. Without an
    /// answer, one of them may have been sent since, so we keep the slots of the other pairs, which may be under
    /// different next shares. A failed write is repeated at the next unlock, which opens the slot under the next share.
    private func unlockShareReplaced(in pairID: PINKeyID, endsOthers: Bool = false) {
        let pairs = (self.store.state.registration?.pairs ?? []).filter { !endsOthers || $0.id == pairID }
        let promoted = pairs.map { $0.id == pairID ? $0.promoted() : $0 }
        try? self.change { $0.registration?.pairs = promoted }
    }

    /// Removes the check value of the share that has been replaced by this proven one.
    ///
    /// Otherwise, an impostor who has the old share from a stolen store could make a wrong PIN look like the right one.
    func forgetReplacedCheck(_ share: Share, of walletID: WalletID) {
        guard let unlocked = self.unlocked, let next = unlocked.accessData.nextShareCheck,
            constantTimeEqual(SlotKeys.checkValue(share: share), next)
        else { return }
        var accessData = unlocked.accessData
        (accessData.shareCheck, accessData.nextShareCheck) = (next, nil)
        try? self.save(accessData, of: walletID)
    }
}

/// UC2.6: a single instruction replaces the PIN.
///
/// Two PINs are never valid at the same time (docs/protocol.md, Changing the PIN).
///
/// In the safe mode, a prompt has already opened the keychain item, and the new pair's slot is sealed under it just
/// like the current pair's.
///
///     write the new pair next to the current one
///       └─▶ send ChangePIN ──▶ answered, or lost: the next session reports the current pair
///             └─▶ a valid PIN opens the successor's slot: the other pairs are removed
extension WalletEngine {
    func changePIN(from old: PINEntry, to new: PINEntry) async throws -> Answer {
        guard let unlocked = self.unlocked, let replaced = unlocked.pairID else { throw Failure.local(.notReady) }
        let successor = try self.successor(for: new, unlocked)
        let outcome: InstructionOutcome?
        do {
            outcome = try await self.instruct(paidBy: old) { current in
                // An earlier message for the same change was executed, but its answer was lost.
                if current.id == successor.id { return nil }
                // A different, delayed change was executed. The old PIN does not belong to this pair, so using it would
                // cost an attempt.
                guard current.id == replaced else { throw Failure.local(.changeSuperseded) }
                let newKey = successor.key(for: new).publicKey
                return (.changePIN(newKey: newKey, newKeyID: successor.id), newPIN: (new, successor))
            }
        } catch {
            // Without a network, we cannot find out whether the earlier message arrived, so either PIN may be the right
            // one.
            // rule: wallet-change-lost-with-network
            if Failure(error) == .noInternet, self.unanswered == old.attemptID {
                throw Failure.serverUnreachable(notCounted: false)
            }
            throw error
        }
        guard let outcome else { return self.changed(to: successor) }
        switch outcome.result {
        case .pinChanged: return self.changed(to: successor)
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(outcome.result)
        case .pinValid, .recoveryCodeLinked, .deletionCode: throw Failure.local(.replyUnexpected)
        }
    }

    /// Returns the pair for this entry of a new PIN.
    ///
    /// It is stored next to the current one before anything is sent.
    ///
    /// Trying again with the same entry returns the same pair, so that an entry never results in more than one change.
    private func successor(for new: PINEntry, _ unlocked: UnlockedKeys) throws -> PINPair {
        guard let registration = self.store.state.registration, let share = unlocked.unlockShare else {
            throw Failure.local(.notReady)
        }
        let walletID = registration.walletID
        if let change = self.change, change.attemptID == new.attemptID, let pair = registration.pair(change.pairID) {
            return pair
        }
        var pair = PINPair.make(
            for: new,
            dataKey: unlocked.dataKey,
            share: share,
            next: unlocked.nextUnlockShare,
            walletID: walletID
        )
        if registration.biometricMode == .safe {
            guard let item = self.openedItem else { throw Failure.local(.itemNotOpened) }
            pair = pair.sealed(under: item, walletID: walletID)  // rule: wallet-successor-slot-unsealed
        }
        try self.change { $0.registration?.pairs.append(pair) }  // rule: wallet-old-pair-dropped-early
        self.change = (new.attemptID, pair.id)
        return pair
    }

    /// Records the change in memory only, because the answer does not prove enough to change any files.
    private func changed(to successor: PINPair) -> Answer {
        self.connection?.update(currentPINKey: successor.id)
        self.unlocked?.pairID = successor.id
        self.unlocked?.item = nil
        return .pinChanged
    }
}
