internal import DeviceInterface
internal import Secrets
internal import WalletFlows

/// Keeps the keychain and the state consistent, even though they cannot be written atomically.
///
///     item added ──▶ state refers to it (commit) ──▶ unreferenced items removed
///
/// If we crash between any two steps, the state still refers to an existing item. Leftover items are removed at a later
/// unlock.
extension WalletEngine {
    /// Shows the prompt that guards an item, and returns the item if the prompt is confirmed.
    ///
    /// An item with the wrong length is treated as not found.
    func openItem(
        _ id: StoredID<KeychainItemKind>,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(KeychainError) -> OpenedItem {
        let secret = try await self.device.keychain.read(id.name, prompt, presentation)
        guard let item = OpenedItem(id, secret) else { throw .notFound }
        return item
    }

    /// Returns the answer for an item that could not be added or opened.
    static func answer(to error: KeychainError) throws -> Answer {
        switch error {
        // No prompt will ever open this item again.
        case .notFound: return .itemGone
        case .prompt(.confirmed), .accessImpossible: return .prompted(.unavailable)
        case .prompt(let result): return .prompted(result)
        case .screenLocked: return .prompted(.cancelled)
        case .storage: throw Failure.local(.keychain)
        }
    }

    /// The item that the state refers to, if a prompt has opened it since the wallet was unlocked.
    var openedItem: OpenedItem? {
        guard let item = self.unlocked?.item, item.id == self.store.state.registration?.biometrics?.item else {
            return nil
        }
        return item
    }

    /// Adds an item that the state does not refer to yet.
    ///
    /// Invariant: in the safe mode, no enrollment ends an item, because without it the wallet can only be reset.
    func addItem(_ item: OpenedItem, for method: UnlockMethod, isSafe: Bool) throws(KeychainError) {
        let endsWithEnrollment = self.settings.pinAfterEnrollment && !isSafe && method == .biometric
        let access = endsWithEnrollment ? ItemAccess.enrolledNow : .any(method)
        try self.device.keychain.add(item.secret, as: item.id.name, access: access)
    }

    /// Creates another item and slot right after a valid PIN, if an enrollment has ended the item
    /// (``Wallet/Settings/pinAfterEnrollment``).
    ///
    /// A migration to the safe mode creates its own item.
    func renewEndedItem() throws {
        guard self.settings.pinAfterEnrollment, let biometrics = self.store.state.registration?.biometrics,
            !biometrics.guardsPINSlots, biometrics.method == .biometric, self.device.biometrics.isEnrolled,
            self.store.serverState.lastFeatures?.safeBiometricUnlock != true,
            !(try self.device.keychain.names().contains(biometrics.item.name))
        else { return }
        _ = try self.enableBiometrics(.biometric)
    }

    /// Removes items that the state does not refer to, and a biometric slot whose item no longer exists.
    ///
    /// The state is written again before anything is removed, because an earlier write may have failed but still
    /// reached the disk.
    func cleanUpKeychain() throws {
        guard let names = try? self.device.keychain.names() else { return }
        let biometrics = self.store.state.registration?.biometrics
        if let biometrics, !biometrics.guardsPINSlots, !names.contains(biometrics.item.name) {
            // This happens, for example, after a restore to another phone. The slot can no longer be opened and is not
            // needed for the PIN.
            try self.change { $0.registration?.biometrics = nil }
        }
        let current = self.store.state.registration?.biometrics?.item.name
        guard names.contains(where: { StoredID<KeychainItemKind>.belongsToWallet($0) && $0 != current }) else { return }
        try self.store.confirm()
        try self.removeItems(except: current)
    }

    /// Removes all of the wallet's items except `current`.
    func removeItems(except current: String?) throws {
        let keychain = self.device.keychain
        for name in try keychain.names()
        where StoredID<KeychainItemKind>.belongsToWallet(name) && name != current {
            try keychain.remove(name)
        }
    }
}
