internal import Secrets
internal import Statements
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
        /// The connection that the answer was received on.
        var connection: WalletConnection
    }

    /// Sends CheckPin.
    ///
    /// The wallet is unlocked only if the PIN's slot can be opened.
    ///
    /// In the safe mode, a locked wallet does not send CheckPin. Its slots are sealed, so it could not tell whether an
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
        case .wrong, .blocked, .blockedPermanently:
            return try Self.verdict(outcome.result)
        case .pinChanged, .recoveryCodeLinked, .deletionCode:
            throw Failure.local(.replyUnexpected)
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
        let pairID = outcome.pair.id.value
        let pair = try self.unsealedPair(outcome.pair)
        if let pair {
            let dataKey = try self.open(pair, with: entry, share: share, walletID: outcome.walletID)
            try self.unlock(with: dataKey, of: outcome.walletID)
        } else {
            guard let unlocked = self.unlocked, unlocked.accessData.accepts(share) else {
                throw Failure.local(.shareOpensNothing)
            }
        }
        outcome.connection.markServerProven()
        self.unlocked?.unlockShare = share
        self.unlocked?.pairID = pairID
        self.forgetReplacedCheck(share, of: outcome.walletID)
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
        guard let registration = self.store.state.registration, registration.pairs.first?.id.value != pairID,
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
            try self.noteSend()
            let request = self.request(instruction, entry, pair, newPIN, session: session, on: connection)
            let answer: CallResult
            do {
                answer = try await self.call(.instruct(request), on: connection)
            } catch {
                self.unanswered = entry.attemptID
                failure = Failure(error, notCounted: false)
                if error == .malformed { throw failure }
                continue
            }
            func outcome(_ result: InstructResult, _ receipt: Receipt?) -> InstructionOutcome {
                let walletID = registration.walletID.value
                self.unanswered = nil
                self.take(receipt, of: result, to: entry, walletID: walletID)
                return InstructionOutcome(result: result, pair: pair, walletID: walletID, connection: connection)
            }
            switch answer {
            case .instruct(let result): return outcome(result, nil)
            case .judged(let result, let receipt): return outcome(result, receipt)
            case .refused(let refusal):
                failure = try await self.recover(from: refusal, on: connection)
            case .hello, .beginEnrollment, .register, .openSession, .revokeWithCode, .reportWipe, .confirmShares:
                throw Failure.local(.replyUnexpected)
            }
        }
        throw failure
    }

    /// Prepares for another try if the refusal allows it, or else throws the refusal.
    ///
    /// No PIN was judged.
    private func recover(from refusal: Refusal, on connection: WalletConnection) async throws -> Failure {
        switch refusal.reason {
        case .pinKeyChanged(let current):
            connection.update(currentPINKey: current)
        case .outOfOrder, .sessionRequired:
            await self.disconnect()
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
            pinKeyID: pair.id.value,
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
