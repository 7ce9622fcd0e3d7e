package import Metrics
package import Secrets
package import Vocabulary

/// A wrapper that counts a vault's operations by kind and outcome.
package struct CountedVault: Vault {
    private struct Counters: Sendable {
        let done: Counter
        let notOurs: Counter
        let unreachable: Counter

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

        /// Performs an operation and counts its outcome.
        func count<Result: ~Copyable>(
            _ operation: () async throws(VaultError) -> Result
        ) async throws(VaultError) -> Result {
            do throws(VaultError) {
                let result = try await operation()
                self.done.increment()
                return result
            } catch {
                self.note(error)
                throw error
            }
        }

        func note(_ error: VaultError) {
            switch error {
            case .notOurs: self.notOurs.increment()
            case .unreachable: self.unreachable.increment()
            }
        }
    }

    private let vault: any Vault
    private let (seals, unseals): (Counters, Counters)

    package init(_ vault: any Vault, metrics factory: any MetricsFactory) {
        self.vault = vault
        self.seals = Counters("seal", factory)
        self.unseals = Counters("unseal", factory)
    }

    package func seal(
        _ secret: borrowing SecretBytes,
        as field: VaultField,
        of wallet: WalletID
    ) async throws(VaultError) -> [UInt8] {
        // This cannot use `count`, because a closure could not borrow the secret.
        do throws(VaultError) {
            let sealed = try await self.vault.seal(secret, as: field, of: wallet)
            self.seals.done.increment()
            return sealed
        } catch {
            self.seals.note(error)
            throw error
        }
    }

    package func unseal(
        _ sealed: [UInt8],
        as field: VaultField,
        of wallet: WalletID
    ) async throws(VaultError) -> SecretBytes {
        try await self.unseals.count { () throws(VaultError) in
            try await self.vault.unseal(sealed, as: field, of: wallet)
        }
    }

    package func mac(_ message: [UInt8], for use: MACUse) -> [UInt8] { self.vault.mac(message, for: use) }

    package func isMAC(_ mac: [UInt8], of message: [UInt8], for use: MACUse) -> Bool {
        self.vault.isMAC(mac, of: message, for: use)
    }
}
