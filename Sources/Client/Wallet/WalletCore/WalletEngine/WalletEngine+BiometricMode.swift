internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows

/// Turning biometrics on and off, and the migration from the fallback mode to the safe mode (docs/testing-guide.md, The
/// safe biometric mode).
///
/// Every change is committed by a single write of the state. Keychain items are added before the commit and removed
/// after it.
extension WalletEngine {
    /// Creates an item and a slot under it, in the mode requested by the server, replacing any existing biometrics.
    func enableBiometrics(_ method: UnlockMethod) throws -> Answer {
        let item = OpenedItem.random()
        let isSafe = self.store.serverState.lastFeatures?.safeBiometricUnlock ?? false
        try self.addItem(item, for: method, isSafe: isSafe)
        try self.turnOn(item, method, guardsPINSlots: isSafe)
        return .biometricsChanged
    }

    /// Restores the PIN slots to their form without biometrics, and removes the biometric slot and its item.
    func disableBiometrics() throws -> Answer {
        guard self.unlocked != nil else { throw Failure.local(.notReady) }
        let pairs = try self.unsealedPairs()
        try self.change { state in
            state.registration?.pairs = pairs
            state.registration?.biometrics = nil
        }
        self.unlocked?.item = nil
        // The change is already committed. If the item cannot be removed now, it will be removed at the next unlock.
        try? self.removeItems(except: nil)
        return .biometricsChanged
    }

    /// Migrates from the fallback mode to the safe mode, right after a valid PIN.
    ///
    /// This either succeeds or changes nothing.
    ///
    ///     add the new item ──▶ read it back with a prompt ──▶ seal and open the slot ──▶ commit
    ///     ──▶ remove the old item
    func migrateBiometrics(_ presentation: Presentation) async throws -> Answer {
        guard self.unlocked?.unlockShare != nil, let biometrics = self.store.state.registration?.biometrics else {
            throw Failure.local(.notReady)
        }
        guard !biometrics.guardsPINSlots else { return .prompted(.confirmed) }
        let method = biometrics.method.method
        let item = OpenedItem.random()
        do {
            try self.addItem(item, for: method, isSafe: true)
        } catch {
            return try Self.answer(to: error)
        }
        let stored: OpenedItem
        do {
            stored = try await self.openItem(item.id, Prompt(.migrate, accepts: method), presentation)
        } catch {
            // No state has ever referred to this item.
            try? self.device.keychain.remove(item.id.name)
            return try Self.answer(to: error)
        }
        guard stored.secret.isEqual(to: item.secret) else {
            try? self.device.keychain.remove(item.id.name)
            throw Failure.local(.keychain)
        }
        try self.turnOn(stored, method, guardsPINSlots: true)
        return .prompted(.confirmed)
    }

    /// Creates a slot under an item that is already in the keychain, opens it once to verify it, and commits.
    private func turnOn(_ item: OpenedItem, _ method: UnlockMethod, guardsPINSlots: Bool) throws {
        guard let unlocked = self.unlocked, let share = unlocked.presenceShare,
            let walletID = self.store.state.registration?.walletID.value
        else { throw Failure.local(.notReady) }
        let slot = BiometricSlot.make(
            item: item,
            method: method,
            dataKey: unlocked.dataKey,
            share: share,
            walletID: walletID
        )
        guard var slot else { throw Failure.local(.shareOpensNothing) }
        slot.guardsPINSlots = guardsPINSlots
        if let next = unlocked.nextPresenceShare {
            slot.seal(unlocked.dataKey, with: item, share: share, next: next, walletID: walletID)
        }
        var pairs = try self.unsealedPairs()
        if guardsPINSlots { pairs = pairs.map { $0.sealed(under: item, walletID: walletID) } }
        try self.change { state in
            state.registration?.pairs = pairs
            state.registration?.biometrics = slot
        }
        unlocked.item = nil
        try? self.removeItems(except: item.id.name)
    }
}
