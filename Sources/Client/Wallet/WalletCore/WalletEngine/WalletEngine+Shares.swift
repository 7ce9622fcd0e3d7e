internal import Secrets
internal import Statements
internal import Vocabulary
internal import WalletFlows
internal import Wire

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

    /// Seals the PIN's slot under the unlock share and the next one.
    ///
    /// Returns false if a slot cannot be sealed now.
    ///
    /// Both slots are created from scratch. If a write failed after an earlier replacement, the stored slot under the
    /// current share might be missing. In the safe mode, a slot also needs the keychain item, which must have been
    /// opened by a prompt. The slots of PIN changes are left alone, in case a change takes effect before ConfirmShares.
    private func prepare(_ next: Share, for entry: PINEntry, _ outcome: InstructionOutcome) throws -> Bool {
        guard let unlocked = self.unlocked, let share = unlocked.unlockShare,
            let registration = self.store.state.registration, let pair = registration.pair(outcome.pair.id.value)
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
    private func unlockShareReplaced(in pairID: StoredID<PINKeyIDKind>, endsOthers: Bool = false) {
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
