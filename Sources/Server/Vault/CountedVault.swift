package import Metrics
package import Secrets
package import Vocabulary

/// A wrapper that counts the derivation of wallets' keys and the opening of values by outcome, and times derivations.
package struct CountedVault: Vault {
    private struct Counters: Sendable {
        private let done: Counter
        private let notOurs: Counter
        private let unreachable: Counter

        init(_ operation: String, _ factory: any MetricsFactory) {
            func counter(_ outcome: String) -> Counter {
                Counter(
                    label: "remote_pin_vault_operations_total",
                    dimensions: [("operation", operation), ("outcome", outcome)],
                    factory: factory
                )
            }
            self.done = counter("done")
            self.notOurs = counter("not_ours")
            self.unreachable = counter("unreachable")
        }

        /// Counts an outcome, which is nil without an error.
        func note(_ error: VaultError?) {
            switch error {
            case nil: self.done.increment()
            case .notOurs: self.notOurs.increment()
            case .unreachable: self.unreachable.increment()
            // The value was not tried. A next share may wait for the wallet's next session.
            case .noKey, .wiped: break
            }
        }
    }

    private let vault: any Vault
    private let (derivations, openings): (Counters, Counters)
    private let derivationTime: Metrics.Timer

    package init(_ vault: any Vault, metrics factory: any MetricsFactory) {
        self.vault = vault
        self.derivations = Counters("derive", factory)
        self.openings = Counters("open", factory)
        self.derivationTime = Timer(label: "remote_pin_vault_derive_seconds", factory: factory)
    }

    package func keys(of wallet: WalletID, opening sealed: [[UInt8]]) async throws(VaultError) -> WalletKeys {
        let start = ContinuousClock.now
        defer { self.derivationTime.record(duration: .now - start) }
        do throws(VaultError) {
            let keys = try await self.vault.keys(of: wallet, opening: sealed)
            self.derivations.note(nil)
            return keys
        } catch {
            self.derivations.note(error)
            throw error
        }
    }

    package var activeVersion: UInt32 { self.vault.activeVersion }

    package func sealIdentity(_ identity: LayeredIdentity, of wallet: WalletID) throws(VaultError) -> [UInt8] {
        try self.vault.sealIdentity(identity, of: wallet)
    }

    package func openIdentity(_ sealed: [UInt8], of wallet: WalletID) throws(VaultError) -> LayeredIdentity {
        try self.counting { () throws(VaultError) in try self.vault.openIdentity(sealed, of: wallet) }
    }

    /// Opens a value with the keys of its wallet and counts the outcome.
    package func open(
        _ sealed: [UInt8],
        as field: VaultField,
        with keys: WalletKeys
    ) throws(VaultError) -> SecretBytes {
        try self.counting { () throws(VaultError) in try keys.open(sealed, as: field) }
    }

    private func counting<Opened: ~Copyable>(
        _ open: () throws(VaultError) -> Opened
    ) throws(VaultError) -> Opened {
        do throws(VaultError) {
            let opened = try open()
            self.openings.note(nil)
            return opened
        } catch {
            self.openings.note(error)
            throw error
        }
    }

    package func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.vault.mac(message, for: use) }

    package func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.vault.isMAC(mac, of: message, for: use)
    }
}
