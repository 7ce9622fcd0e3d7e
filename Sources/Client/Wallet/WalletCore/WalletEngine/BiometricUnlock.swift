internal import WalletFlows
internal import Secrets
internal import Vocabulary

/// Unlocks with biometrics (UC2.3/1.2), confirms actions of the host (PF2.4/1.6), and shows all other system prompts
/// that open the keychain item.
extension WalletEngine {
    /// Shows a prompt.
    ///
    /// If the wallet is unlocked and has a keychain item, the prompt guards the item and opens it for the next
    /// operation.
    ///
    /// Unlocking does not keep the item open. Changing the PIN and turning off biometrics prompt again, and in the safe
    /// mode they cannot proceed without the item.
    func prompt(_ prompt: Prompt, _ presentation: Presentation) async throws -> Answer {
        guard self.unlocked != nil, let biometrics = self.store.state.registration?.biometrics else {
            return .prompted(try await self.device.authenticate(prompt, presentation))
        }
        let itemPrompt = Prompt(prompt.purpose, accepts: biometrics.method)
        do {
            self.unlocked?.item = try await self.openItem(biometrics.item, itemPrompt, presentation)
        } catch {
            return try Self.answer(to: error)
        }
        return .prompted(.confirmed)
    }

    func unlockWithBiometrics(_ presentation: Presentation) async throws -> Answer {
        try await self.openSlot(with: .unlock, presentation)
    }

    /// Confirms an action of the host application, by everything that unlocking requires.
    ///
    /// A locked wallet confirms nothing and is not unlocked. No PIN attempt is sent, and the server does not learn what
    /// was confirmed.
    func confirmWithBiometrics(_ presentation: Presentation) async throws -> Answer {
        // rule: wallet-locked-confirms
        guard self.unlocked != nil else { throw Failure.local(.notReady) }
        return try await self.openSlot(with: .confirm, presentation)
    }

    /// Shows the prompt, opens a session, and opens the biometric slot and the access data, in this order.
    ///
    /// The session is opened after the prompt, so that a presence share received before a revocation is useless after
    /// it. A session without a share is a permanent block only if the server says so, because a blocked version of the
    /// app gets none, either.
    private func openSlot(with purpose: Prompt.Purpose, _ presentation: Presentation) async throws -> Answer {
        guard let biometrics = self.store.state.registration?.biometrics else { return .itemGone }
        let item: OpenedItem
        do {
            let prompt = Prompt(purpose, accepts: biometrics.method)
            item = try await self.openItem(biometrics.item, prompt, presentation)
        } catch {
            return try Self.answer(to: error)
        }
        await self.disconnect()  // rule: wallet-presence-share-outlives-revocation
        let connection = try await self.activeSession()
        guard let session = connection.session else { throw Failure.local(.replyUnexpected) }
        guard let share = session.presenceShare else {
            // rule: wallet-block-without-word
            guard session.pinState == .blockedPermanently else { throw Failure.local(.replyUnexpected) }
            return .verdict(.blockedPermanently)
        }
        // If the share does not open the slot, it did not come from the server, and we do not change anything.
        let dataKey = try self.open(biometrics, with: item, share: share, walletID: session.walletID)
        try self.unlock(with: dataKey, of: session.walletID)
        self.unlocked?.presenceShare = share
        self.unlocked?.nextPresenceShare = session.nextPresenceShare
        connection.markServerProven()
        self.prepareNextPresenceShare(with: item, of: session.walletID)
        self.finishUnlock(with: item, wantsSafeMode: session.features.safeBiometricUnlock, of: session.walletID)
        return .prompted(.confirmed)
    }

    /// Completes pending changes after the slot was opened.
    ///
    /// If this fails, the user is not locked out; we try again at the next unlock.
    ///
    /// The flag comes from the session whose share has just opened the slot, so an impostor cannot use it to leave the
    /// safe mode.
    private func finishUnlock(with item: OpenedItem, wantsSafeMode: Bool, of walletID: WalletID) {
        if self.store.state.registration?.biometricMode == .safe, !wantsSafeMode {
            self.unlocked?.item = item
            try? self.leaveSafeMode()
            self.unlocked?.item = nil
        }
        try? self.cleanUpKeychain()
        if self.store.state.registration?.progress == .done { try? self.forgetWrittenDownCode(of: walletID) }
    }

    /// Returns to the PIN-fallback mode with a single write.
    ///
    /// Slots of both kinds can still be opened as before. With ``Wallet/Settings/pinAfterEnrollment``, the item is
    /// replaced by one that ends with an enrollment.
    private func leaveSafeMode() throws {
        if self.settings.pinAfterEnrollment, let method = self.store.state.registration?.biometrics?.method,
            (try? self.enableBiometrics(method)) != nil
        {
            return
        }
        let pairs = try self.unsealedPairs()
        try self.change { state in
            state.registration?.pairs = pairs
            state.registration?.biometrics?.guardsPINSlots = false
        }
    }

    /// Returns the pair without the item's seal around its slot, or nil if the slot has a seal and no prompt has opened
    /// the item.
    func unsealedPair(_ pair: PINPair) throws -> PINPair? {
        guard let registration = self.store.state.registration, registration.biometricMode == .safe else { return pair }
        guard let item = self.openedItem else { return nil }
        return try pair.unsealed(with: item, walletID: registration.walletID)
    }

    /// Returns all pairs without the item's seal, including those of PIN changes in progress.
    func unsealedPairs() throws -> [PINPair] {
        guard let registration = self.store.state.registration else { throw Failure.local(.notReady) }
        return try registration.pairs.map { pair in
            guard let unsealed = try self.unsealedPair(pair) else { throw Failure.local(.itemNotOpened) }
            return unsealed
        }
    }
}

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
        let method = biometrics.method
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
        // rule: wallet-slot-under-unproven-share
        guard let unlocked = self.unlocked, let share = unlocked.presenceShare,
            let walletID = self.store.state.registration?.walletID
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
        _ id: KeychainItemID,
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
        guard names.contains(where: { KeychainItemID.belongsToWallet($0) && $0 != current }) else { return }
        try self.store.confirm()  // rule: wallet-cleanup-ignores-disk
        try self.removeItems(except: current)
    }

    func removeItems(except current: String?) throws {
        let keychain = self.device.keychain
        for name in try keychain.names()
        where KeychainItemID.belongsToWallet(name) && name != current {
            try keychain.remove(name)
        }
    }
}
