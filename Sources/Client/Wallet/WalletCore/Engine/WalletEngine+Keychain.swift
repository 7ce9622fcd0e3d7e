internal import DeviceInterface
internal import Secrets
internal import Vocabulary
internal import WalletFlows

/// The keychain, beside the state: two stores that no write changes together.
///
///     item added ──▶ state names it (the mark) ──▶ items that no state names are removed
///
/// Killed between any two steps, the state names an item that is there. What is left over is removed at a later unlock.
extension WalletEngine {
    /// Why a keychain item was not opened.
    enum ItemError: Error {
        /// The prompt ended so; nothing is wrong with the wallet.
        case prompt(PromptResult)
        /// There is no such item: no prompt will ever open it.
        case gone
        case failed(Failure)

        init(_ error: KeychainError) {
            switch error {
            case .notFound: self = .gone
            case .prompt(.confirmed), .accessImpossible: self = .prompt(.unavailable)
            case .prompt(let result): self = .prompt(result)
            case .screenLocked: self = .prompt(.cancelled)
            case .storage: self = .failed(.local)
            }
        }

        /// What to answer.
        func answer() throws(Failure) -> Answer {
            switch self {
            case .prompt(let result): return .prompted(result)
            case .gone: return .itemGone
            case .failed(let failure): throw failure
            }
        }
    }

    /// Opens the prompt that guards an item, and the item if it is confirmed.
    func openItem(
        _ id: StoredID<KeychainItemKind>,
        _ prompt: Prompt,
        _ presentation: Presentation
    ) async throws(ItemError) -> OpenedItem {
        let secret: SecretBytes
        do throws(KeychainError) {
            secret = try await self.device.keychain.read(id.name, prompt, presentation)
        } catch {
            throw ItemError(error)
        }
        guard let item = OpenedItem(id, secret) else { throw .gone }
        return item
    }

    /// The item that the state names, where a prompt has opened it since the wallet was unlocked.
    var openedItem: OpenedItem? {
        guard let item = self.unlocked?.item, item.id == self.store.state.registration?.biometrics?.item else {
            return nil
        }
        return item
    }

    /// Keeps a new item, which no state names yet.
    func addItem(_ item: OpenedItem, for method: UnlockMethod) throws(KeychainError) {
        try self.device.keychain.add(item.secret, as: item.id.name, access: method)
    }

    /// Removes what no state names any more, and what names an item that is gone.
    ///
    /// The disk is made to say for certain what memory says before anything goes: a write that failed may have reached it.
    func cleanUpKeychain() throws(Failure) {
        guard let names = try? self.device.keychain.names() else { return }
        let biometrics = self.store.state.registration?.biometrics
        if let biometrics, !biometrics.guardsPINSlots, !names.contains(biometrics.item.name) {
            // The phone was restored, say. Nothing opens this slot any more; the PIN does without it.
            try self.change { $0.registration?.biometrics = nil }
        }
        let current = self.store.state.registration?.biometrics?.item.name
        guard names.contains(where: { StoredID<KeychainItemKind>.isOurs($0) && $0 != current }) else { return }
        try self.storing { store throws(StorageError) in try store.confirm() }
        try self.removeItems(except: current)
    }

    /// Removes every item of the wallet's but the one that the state names.
    func removeItems(except current: String?) throws(Failure) {
        let keychain = self.device.keychain
        do throws(KeychainError) {
            for name in try keychain.names() where StoredID<KeychainItemKind>.isOurs(name) && name != current {
                try keychain.remove(name)
            }
        } catch {
            throw .local
        }
    }
}
