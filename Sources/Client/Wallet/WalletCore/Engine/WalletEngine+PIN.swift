internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// PF2.8: instructions that a PIN pays for.
extension WalletEngine {
    /// What an instruction met, and the pair that its PIN was tried under.
    struct InstructionOutcome {
        var result: InstructResult
        var pair: PINPair
        var walletID: WalletID
        /// Where it was answered.
        var connection: WalletConnection
    }

    /// CheckPin; a right PIN opens its slot, and only that unlocks.
    ///
    /// In the safe mode a locked wallet sends none: the slot is sealed away, so nothing could tell a right PIN from a lie.
    func checkPIN(_ entry: PINEntry) async throws(Failure) -> Answer {
        if self.unlocked == nil, self.store.state.registration?.biometricMode == .safe { throw .local }
        let instructed = try await self.instruct(.checkPIN, paidBy: entry)
        switch instructed.result {
        case .pinValid(let share):
            try self.accept(share, of: entry, instructed)
            return .verdict(.valid)
        case .wrong, .blocked, .blockedPermanently:
            return try Self.verdict(instructed.result)
        case .pinChanged, .recoveryCodeLinked, .deletionCode:
            throw .local
        }
    }

    /// ShowDeletionCode: the code comes from the server; the wallet keeps none.
    func showDeletionCode(_ entry: PINEntry) async throws(Failure) -> Answer {
        let instructed = try await self.instruct(.showDeletionCode, paidBy: entry)
        switch instructed.result {
        case .deletionCode(let code): return .deletionCode(code)
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(instructed.result)
        case .pinValid, .pinChanged, .recoveryCodeLinked: throw .local
        }
    }

    static func verdict(_ result: InstructResult) throws(Failure) -> Answer {
        switch result {
        case .wrong(let state): return .verdict(.wrong(state))
        case .blocked(let remaining): return .verdict(.blocked(remaining: remaining))
        case .blockedPermanently: return .verdict(.blockedPermanently)
        case .pinValid, .pinChanged, .recoveryCodeLinked, .deletionCode: throw .local
        }
    }

    /// Believes a valid PIN if its share proves it, and is unlocked then.
    ///
    /// A share that opens nothing, or has another check value, was not the server's: nothing is changed.
    func accept(_ share: Share, of entry: PINEntry, _ instructed: InstructionOutcome) throws(Failure) {
        let pairID = instructed.pair.id.value
        let bare = try self.unsealedPair(instructed.pair)
        if let bare {
            try self.open(bare, with: entry, share: share, of: instructed.walletID)
        } else {
            guard let unlocked = self.unlocked,
                constantTimeEqual(SlotKeys.checkValue(share: share), unlocked.accessData.shareCheck)
            else { throw .local }
        }
        instructed.connection.markServerProven()
        self.unlocked?.unlockShare = share
        self.unlocked?.pairID = pairID
        // What the same connection said before is the server's as well.
        if let share = instructed.connection.session?.presenceShare { self.unlocked?.presenceShare = share }
        self.change = nil
        // Tidying up: what cannot be done now is done at the next unlock, and keeps nobody out.
        if bare != nil { try? self.removeReplacedPairs(keeping: pairID) }
        try? self.cleanUpKeychain()
        if self.store.state.registration?.progress == .done {
            try? self.forgetWrittenDownCode(of: instructed.walletID)
        }
    }

    /// Opens the pair's slot, and the access data with what is in it.
    private func open(_ pair: PINPair, with entry: PINEntry, share: Share, of walletID: WalletID) throws(Failure) {
        let dataKey: SecretBytes
        do throws(SealBroken) {
            dataKey = try pair.open(with: entry, share: share, walletID: walletID)
        } catch {
            throw .local
        }
        try self.unlock(with: dataKey, of: walletID)
    }

    /// A valid PIN has opened this pair's slot: where it is a successor, what it replaced and the others are removed.
    private func removeReplacedPairs(keeping pairID: PINKeyID) throws(Failure) {
        guard let registration = self.store.state.registration, registration.pairs.first?.id.value != pairID,
            let pair = registration.pair(pairID)
        else { return }
        try self.change { $0.registration?.pairs = [pair] }
    }

    /// Sends one instruction, opening a session where there is none.
    ///
    /// A lost reply is answered by the same entry, under the same attempt id, on a new connection: once by itself, then
    /// whenever the person tries again.
    func instruct(_ instruction: Instruction, paidBy entry: PINEntry) async throws(Failure) -> InstructionOutcome {
        guard let instructed = try await self.instruct(paidBy: entry, { _ in (instruction, nil) }) else {
            throw .local
        }
        return instructed
    }

    /// As above; `make` says what to send once it is known which pair counts, and who else signs it, or that nothing is
    /// to be sent.
    func instruct(
        paidBy entry: PINEntry,
        _ make: (PINPair) throws(Failure) -> (Instruction, newPIN: (entry: PINEntry, pair: PINPair)?)?
    ) async throws(Failure) -> InstructionOutcome? {
        do throws(Failure) {
            return try await self.exchange(entry, make)
        } catch {
            if self.unanswered == entry.attemptID, case .serverUnreachable = error {
                throw .serverUnreachable(notCounted: false)
            }
            throw error
        }
    }

    private func exchange(
        _ entry: PINEntry,
        _ make: (PINPair) throws(Failure) -> (Instruction, newPIN: (entry: PINEntry, pair: PINPair)?)?
    ) async throws(Failure) -> InstructionOutcome? {
        var failure = Failure.serverUnreachable(notCounted: true)
        for _ in 0..<3 {
            let connection = try await self.activeSession()
            guard let registration = self.store.state.registration, let session = connection.session,
                let pair = registration.pair(session.pinKeyID)
            else { throw .local }
            guard let (instruction, newPIN) = try make(pair) else { return nil }
            let request = self.request(instruction, entry, pair, newPIN, session: session, on: connection)
            let result: CallResult
            do throws(CallChannelError) {
                result = try await self.call(.instruct(request), on: connection)
            } catch {
                self.unanswered = entry.attemptID
                failure = Failure(error, notCounted: false)
                if error == .malformed { throw failure }
                continue
            }
            switch result {
            case .instruct(let result):
                self.unanswered = nil
                return InstructionOutcome(
                    result: result,
                    pair: pair,
                    walletID: registration.walletID.value,
                    connection: connection
                )
            case .refused(let refusal):
                failure = try await self.recover(from: refusal, on: connection)
            case .hello, .beginEnrollment, .register, .openSession, .revokeWithCode, .reportWipe:
                throw .local
            }
        }
        throw failure
    }

    private func activeSession() async throws(Failure) -> WalletConnection {
        switch try await self.walletSession() {
        case .active(let connection): return connection
        case .revoked(let revocation): throw .revoked(revocation)
        case .notKnown(let refusal): throw Failure(refusal)
        }
    }

    /// What can be mended by asking again, differently; nothing was judged in any of these.
    ///
    /// Others are thrown.
    private func recover(from refusal: Refusal, on connection: WalletConnection) async throws(Failure) -> Failure {
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
        let signed = statement(.instructPIN)
        let signature = key.sign(signed)
        return Instruct(
            counter: counter,
            body: body,
            pinSignature: signature,
            newPINSignature: newPIN.map { $0.pair.key(for: $0.entry).sign(statement(.newPIN)) },
            pinNonceY: P256NonceY(of: signature, by: key.publicKey, for: signed)
        )
    }
}
