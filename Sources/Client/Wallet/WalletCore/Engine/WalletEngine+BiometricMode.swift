internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows

/// Biometrics on, off, and from the PIN-fallback mode to the safe one (safe-biometric.md).
///
/// Each is one write of the state, its mark: before it the wallet is as it was, after it as it is to be. Items are added
/// before the mark and removed after it.
extension WalletEngine {
    /// A new item and the slot under it, in the mode that the server's flag says; whatever was on before is replaced.
    func enableBiometrics(_ method: UnlockMethod) throws(Failure) -> Answer {
        let item = OpenedItem.random()
        do throws(KeychainError) {
            try self.addItem(item, for: method)
        } catch {
            throw .local
        }
        let isSafe = self.store.serverState.lastFeatures?.safeBiometricUnlock ?? false
        try self.turnOn(item, method, guardsPINSlots: isSafe)
        return .biometricsChanged
    }

    /// The PIN slots as they are without biometrics; slot and item go.
    func disableBiometrics() throws(Failure) -> Answer {
        guard self.unlocked != nil else { throw .local }
        let pairs = try self.unsealedPairs()
        try self.change { state in
            state.registration?.pairs = pairs
            state.registration?.biometrics = nil
        }
        self.unlocked?.item = nil
        // The mark is made; what is left of the item is removed at the next unlock.
        try? self.removeItems(except: nil)
        return .biometricsChanged
    }

    /// From the fallback mode to the safe one, right after a valid PIN: done once, or not at all.
    ///
    ///     new item written ──▶ read back, by the prompt ──▶ slot made under it and opened ──▶ the mark ──▶ old item removed
    func migrateBiometrics(_ presentation: Presentation) async throws(Failure) -> Answer {
        guard self.unlocked?.unlockShare != nil, let biometrics = self.store.state.registration?.biometrics else {
            throw .local
        }
        guard !biometrics.guardsPINSlots else { return .prompted(.confirmed) }
        let method = biometrics.method.method
        let item = OpenedItem.random()
        do throws(KeychainError) {
            try self.addItem(item, for: method)
        } catch {
            return try ItemError(error).answer()
        }
        let kept: OpenedItem
        do throws(ItemError) {
            kept = try await self.openItem(item.id, Prompt(.migrate, accepts: method), presentation)
        } catch {
            // No state ever named it.
            try? self.device.keychain.remove(item.id.name)
            return try error.answer()
        }
        guard kept.secret.isEqual(to: item.secret) else {
            try? self.device.keychain.remove(item.id.name)
            throw .local
        }
        try self.turnOn(kept, method, guardsPINSlots: true)
        return .prompted(.confirmed)
    }

    /// Makes the slot under an item that the keychain holds, opens it once, and writes the mark.
    private func turnOn(_ item: OpenedItem, _ method: UnlockMethod, guardsPINSlots: Bool) throws(Failure) {
        guard let unlocked = self.unlocked, let share = unlocked.presenceShare,
            let walletID = self.store.state.registration?.walletID.value
        else { throw .local }
        let slot = BiometricSlot.make(
            item: item,
            method: method,
            dataKey: unlocked.dataKey,
            share: share,
            walletID: walletID
        )
        guard var slot else { throw .local }
        slot.guardsPINSlots = guardsPINSlots
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
