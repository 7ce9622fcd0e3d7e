internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC2.6: a single instruction replaces the PIN.
///
/// Two PINs are never valid at the same time (docs/protocol.md, Changing the PIN).
///
/// In the safe mode, a prompt has already opened the keychain item, and the new pair's slot is sealed under it just
/// like the current pair's.
///
///     write the new pair next to the current one
///       └─▶ send ChangePin ──▶ answered, or lost: the next session reports the current pair
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
                guard current.id.value == replaced else { throw Failure.local(.changeSuperseded) }
                let newKey = successor.key(for: new).publicKey
                return (.changePIN(newKey: newKey, newKeyID: successor.id.value), newPIN: (new, successor))
            }
        } catch {
            // Without a network, we cannot find out whether the earlier message arrived, so either PIN may be the right
            // one.
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
        let walletID = registration.walletID.value
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
            pair = pair.sealed(under: item, walletID: walletID)
        }
        try self.change { $0.registration?.pairs.append(pair) }
        self.change = (new.attemptID, pair.id.value)
        return pair
    }

    /// Records the change in memory only, because the answer does not prove enough to change any files.
    private func changed(to successor: PINPair) -> Answer {
        self.connection?.update(currentPINKey: successor.id.value)
        self.unlocked?.pairID = successor.id.value
        self.unlocked?.item = nil
        return .pinChanged
    }
}
