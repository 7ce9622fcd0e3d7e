internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC2.6: one instruction replaces the PIN, and at no moment do two PINs work (docs/protocol.md, Changing the PIN).
///
/// In the safe mode a prompt has opened the keychain item before, and the new pair's slot is sealed under it as the
/// present one's is.
///
///     write the new pair beside the present one
///       └─▶ send ChangePin ──▶ answered, or lost: then the next session says which pair counts
///             └─▶ a valid PIN opens the successor's slot: the others are removed
extension WalletEngine {
    func changePIN(from old: PINEntry, to new: PINEntry) async throws(Failure) -> Answer {
        guard let unlocked = self.unlocked, let replaced = unlocked.pairID else { throw .local }
        let successor = try self.successor(for: new, unlocked)
        let instructed: InstructionOutcome?
        do throws(Failure) {
            instructed = try await self.instruct(paidBy: old) { current throws(Failure) in
                // An earlier sending of the same change was done although its answer was lost.
                if current.id == successor.id { return nil }
                // Another late change has won: the old PIN is not this pair's, and trying it would cost an attempt.
                guard current.id.value == replaced else { throw .local }
                let newKey = successor.key(for: new).publicKey
                return (.changePIN(newKey: newKey, newKeyID: successor.id.value), newPIN: (new, successor))
            }
        } catch {
            // That the network went says nothing of what was sent before: either PIN may be the right one.
            if error == .noInternet, self.unanswered == old.attemptID { throw .serverUnreachable(notCounted: false) }
            throw error
        }
        guard let instructed else { return self.changed(to: successor) }
        switch instructed.result {
        case .pinChanged: return self.changed(to: successor)
        case .wrong, .blocked, .blockedPermanently: return try Self.verdict(instructed.result)
        case .pinValid, .recoveryCodeLinked, .deletionCode: throw .local
        }
    }

    /// The pair for this entry of a new PIN, durably beside the present one before anything is sent.
    ///
    /// Trying again with the same entry takes the same pair, so that one entry is one change.
    private func successor(for new: PINEntry, _ unlocked: UnlockedKeys) throws(Failure) -> PINPair {
        guard let registration = self.store.state.registration, let share = unlocked.unlockShare else { throw .local }
        let walletID = registration.walletID.value
        if let change = self.change, change.attemptID == new.attemptID, let pair = registration.pair(change.pairID) {
            return pair
        }
        var pair = PINPair.make(for: new, dataKey: unlocked.dataKey, share: share, walletID: walletID)
        if registration.biometricMode == .safe {
            guard let item = self.openedItem else { throw .local }
            pair = pair.sealed(under: item, walletID: walletID)
        }
        try self.change { $0.registration?.pairs.append(pair) }
        self.change = (new.attemptID, pair.id.value)
        return pair
    }

    /// The answer proves nothing that files may depend on, so only memory follows it.
    private func changed(to successor: PINPair) -> Answer {
        self.connection?.update(currentPINKey: successor.id.value)
        self.unlocked?.pairID = successor.id.value
        self.unlocked?.item = nil
        return .pinChanged
    }
}
