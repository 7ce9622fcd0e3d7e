internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows

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
        let itemPrompt = Prompt(prompt.purpose, accepts: biometrics.method.method)
        do {
            self.unlocked?.item = try await self.openItem(biometrics.item, itemPrompt, presentation)
        } catch {
            return try Self.answer(to: error)
        }
        return .prompted(.confirmed)
    }

    /// Unlocks the wallet.
    func unlockWithBiometrics(_ presentation: Presentation) async throws -> Answer {
        try await self.openSlot(with: .unlock, presentation)
    }

    /// Confirms an action of the host application, by everything that unlocking requires.
    ///
    /// A locked wallet confirms nothing and is not unlocked. No PIN attempt is sent, and the server does not learn what
    /// was confirmed.
    func confirmWithBiometrics(_ presentation: Presentation) async throws -> Answer {
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
            let prompt = Prompt(purpose, accepts: biometrics.method.method)
            item = try await self.openItem(biometrics.item, prompt, presentation)
        } catch {
            return try Self.answer(to: error)
        }
        await self.disconnect()
        let connection = try await self.activeSession()
        guard let session = connection.session else { throw Failure.local(.replyUnexpected) }
        guard let share = session.presenceShare else {
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
        if self.settings.pinAfterEnrollment, let method = self.store.state.registration?.biometrics?.method.method,
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
        return try pair.unsealed(with: item, walletID: registration.walletID.value)
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
