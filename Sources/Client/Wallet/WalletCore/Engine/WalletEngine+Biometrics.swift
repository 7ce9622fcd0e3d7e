internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows
internal import Wire

/// UC2.3/1.2 and every other prompt of the operating system: the phone's owner opens the keychain item.
extension WalletEngine {
    /// Asks the phone's owner; where the unlocked wallet has an item, its prompt, which opens it for what follows.
    ///
    /// Unlocking does not keep the item open: changing the PIN and turning biometrics off ask anew, and cannot do
    /// without it in the safe mode.
    func prompt(_ prompt: Prompt, _ presentation: Presentation) async throws(Failure) -> Answer {
        guard self.unlocked != nil, let biometrics = self.store.state.registration?.biometrics else {
            do throws(DeviceError) {
                return .prompted(try await self.device.authenticate(prompt, presentation))
            } catch {
                throw Failure(error)
            }
        }
        let asked = Prompt(prompt.purpose, accepts: biometrics.method.method)
        do throws(ItemError) {
            self.unlocked?.item = try await self.openItem(biometrics.item, asked, presentation)
        } catch {
            return try error.answer()
        }
        return .prompted(.confirmed)
    }

    /// Prompt, session, slot.
    ///
    /// The session is opened after the prompt: a presence share from before a revocation must not open anything after it.
    func unlockWithBiometrics(_ presentation: Presentation) async throws(Failure) -> Answer {
        guard let biometrics = self.store.state.registration?.biometrics else { return .itemGone }
        let item: OpenedItem
        do throws(ItemError) {
            let prompt = Prompt(.unlock, accepts: biometrics.method.method)
            item = try await self.openItem(biometrics.item, prompt, presentation)
        } catch {
            return try error.answer()
        }
        await self.disconnect()
        switch try await self.walletSession() {
        case .active(let connection):
            guard let session = connection.session else { throw .local }
            guard let share = session.presenceShare else { return .verdict(.blockedPermanently) }
            try self.unlock(biometrics, with: item, share: share, of: session.walletID)
            connection.markServerProven()
            self.finishUnlock(with: item, wantsSafeMode: session.features.safeBiometricUnlock, of: session.walletID)
            return .prompted(.confirmed)
        case .revoked(let revocation):
            throw .revoked(revocation)
        case .notKnown(let refusal):
            throw Failure(refusal)
        }
    }

    /// A share that opens nothing was not the server's: nothing is changed.
    private func unlock(
        _ biometrics: BiometricSlot,
        with item: OpenedItem,
        share: Share,
        of walletID: WalletID
    ) throws(Failure) {
        let dataKey: SecretBytes
        do throws(SealBroken) {
            dataKey = try biometrics.open(with: item, share: share, walletID: walletID)
        } catch {
            throw .local
        }
        try self.unlock(with: dataKey, of: walletID)
        self.unlocked?.presenceShare = share
    }

    /// What an unlocking owes: what cannot be done now is done at the next one, and keeps nobody out.
    ///
    /// The flag is that of the session whose share has just opened the slot, so a liar cannot lead back from the safe
    /// mode with it.
    private func finishUnlock(with item: OpenedItem, wantsSafeMode: Bool, of walletID: WalletID) {
        if self.store.state.registration?.biometricMode == .safe, !wantsSafeMode {
            self.unlocked?.item = item
            try? self.leaveSafeMode()
            self.unlocked?.item = nil
        }
        try? self.cleanUpKeychain()
        if self.store.state.registration?.progress == .done { try? self.forgetWrittenDownCode(of: walletID) }
    }

    /// The way back to the PIN-fallback mode: one write, and both slots open as before.
    private func leaveSafeMode() throws(Failure) {
        let pairs = try self.unsealedPairs()
        try self.change { state in
            state.registration?.pairs = pairs
            state.registration?.biometrics?.guardsPINSlots = false
        }
    }

    /// The pair with its slot as PIN and share open it; nil where it is sealed away and no prompt has opened the item.
    func unsealedPair(_ pair: PINPair) throws(Failure) -> PINPair? {
        guard let registration = self.store.state.registration, registration.biometricMode == .safe else { return pair }
        guard let item = self.openedItem else { return nil }
        do throws(SealBroken) {
            return try pair.unsealed(with: item, walletID: registration.walletID.value)
        } catch {
            throw .local
        }
    }

    /// All pairs so; what is under way with them stays under way.
    func unsealedPairs() throws(Failure) -> [PINPair] {
        guard let registration = self.store.state.registration else { throw .local }
        var pairs: [PINPair] = []
        for pair in registration.pairs {
            guard let bare = try self.unsealedPair(pair) else { throw .local }
            pairs.append(bare)
        }
        return pairs
    }
}
