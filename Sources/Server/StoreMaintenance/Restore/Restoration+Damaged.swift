internal import AuditLog
internal import Secrets
internal import Vault
internal import Vocabulary
internal import WalletStore

// Every sealed value is opened once: where the key is not the right one nothing is restored, and a wallet of which a value
// is damaged is found here and not by its user.
extension Restoration {
    /// Wallets whose values are opened at a time.
    private static let openedAtOnce = 500

    /// Opens all that the vault sealed, so that a key file of another time is found now and not wallet by wallet.
    ///
    /// - Returns: the wallets in use of which a value does not open although its key is the right one. One that has ended
    ///   needs none of its values.
    func damagedWallets(of store: SQLiteWalletStore) async throws(RestoreFailure) -> [WalletID] {
        var (opened, unopened): (Set<UInt32>, [(wallet: WalletID, version: UInt32?)]) = ([], [])
        var after: UInt64?
        while true {
            let place = after
            let wallets = try await stepped { () throws(StoreError) in
                try await store.sealedValues(after: place, limit: Self.openedAtOnce)
            }
            for wallet in wallets {
                for (field, sealed) in wallet.values.byField {
                    let version = self.parts.vault.keyVersion(of: sealed)
                    if try await self.opens(sealed, as: field, of: wallet.walletID) {
                        if let version { opened.insert(version) }
                    } else if !wallet.hasEnded {
                        unopened.append((wallet.walletID, version))
                    }
                }
            }
            guard wallets.count == Self.openedAtOnce, let last = wallets.last else { break }
            after = last.place
        }
        let noted = try await stepped { () throws(StoreError) in try await store.vaultVersions() }
        var damaged: [WalletID] = []
        for (wallet, version) in unopened {
            if let version, !opened.contains(version), !self.isRightKey(version, by: noted) {
                throw .sealed(wallet: wallet.description)
            }
            if damaged.last != wallet { damaged.append(wallet) }
        }
        return damaged
    }

    /// Whether a key of which no value opens is none the less the one that the store knows under its version.
    ///
    /// Also where no key ever sealed under it in this store: then the value's own number is what is damaged. Of versions
    /// before the first that it knows, and of the one behind its last, which a rotation may have begun and not noted yet, a
    /// store cannot say.
    private func isRightKey(_ version: UInt32, by noted: [StoredVaultVersion]) -> Bool {
        guard let first = noted.first?.version, let last = noted.last?.version, version >= first,
            UInt64(version) != UInt64(last) + 1
        else { return false }
        guard let known = noted.first(where: { $0.version == version }) else { return true }
        guard let check = known.check else { return false }
        return check == self.parts.vault.check(of: version)
    }

    private func opens(
        _ sealed: Sealed,
        as field: VaultField,
        of wallet: WalletID
    ) async throws(RestoreFailure) -> Bool {
        do throws(VaultError) {
            return try await self.parts.vault.opens(sealed, as: field, of: wallet)
        } catch {
            throw .vault
        }
    }

    /// Ends the wallets that are damaged and that nothing else ended, where the operator said so.
    ///
    /// Behind the replay: an earlier restore may have ended them on record.
    func end(
        _ damaged: [WalletID],
        in store: SQLiteWalletStore
    ) async throws(RestoreFailure) -> [WalletID] {
        var inUse: [WalletID] = []
        for wallet in damaged {
            let report = try await stepped { () throws(StoreError) in try await store.report(of: wallet) }
            if report?.revocation == nil { inUse.append(wallet) }
        }
        guard !inUse.isEmpty else { return [] }
        guard self.parts.endsDamaged else { throw .damagedWallets(inUse) }
        let (wallets, now) = (inUse, self.parts.clock.now())
        _ = try await stepped { () throws(StoreError) in
            try await store.end(wallets, as: Revocation(reason: .wallet, mayRegisterAnew: true), at: now)
        }
        return inUse
    }

    /// Puts on record that damaged wallets are about to end, as every end of a wallet before it happens.
    func beginEnds(
        of wallets: [WalletID],
        in audit: AuditLog
    ) async throws(RestoreFailure) -> [(subject: AuditSubject, begun: UInt64)] {
        guard !wallets.isEmpty else { return [] }
        var ends: [(AuditSubject, UInt64)] = []
        do throws(AuditLogError) {
            for subject in AuditSubject(wallets: wallets).inParts {
                let detail = "damaged: what is sealed for them does not open"
                let begun = try await audit.append(
                    .revokeWallets,
                    by: self.parts.actor,
                    on: subject,
                    .begun,
                    detail: detail
                )
                ends.append((subject, begun.number))
            }
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            throw .audit(error)
        }
        return ends
    }

    /// Puts on record that ends which were begun did not happen: a later restore must not do them again.
    func undo(_ ends: [(subject: AuditSubject, begun: UInt64)], in audit: AuditLog, for reason: String) async {
        for end in ends {
            let phase = AuditPhase.failed(of: end.begun, reason: reason)
            await audit.tryAppend(.revokeWallets, by: self.parts.actor, on: end.subject, phase)
        }
    }
}
