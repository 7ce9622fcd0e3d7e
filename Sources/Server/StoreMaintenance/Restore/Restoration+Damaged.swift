internal import AuditLog
internal import Vault
internal import Vocabulary
internal import WalletStore

// Opens every sealed value once, so that nothing is restored with the wrong key, and a damaged value is found now and
// not by the wallet's user.
extension Restoration {
    /// The number of wallets whose values are read by one step.
    private static let stepSize = 500

    /// Opens every sealed value, so that an outdated key file is discovered now rather than one wallet at a time.
    ///
    /// - Returns: The wallets in use with a value that cannot be opened although its key is the right one, or with an
    ///   attempt record whose MAC does not match. Ended wallets are not included, because they need none of their
    ///   values.
    func damagedWallets(of store: SQLiteWalletStore) async throws -> [WalletID] {
        var (opened, unopened): (Set<UInt32>, [(wallet: WalletID, version: UInt32?)]) = ([], [])
        try await store.forEachStep(of: Self.stepSize) { wallets in
            for wallet in wallets {
                for (field, sealed) in wallet.values.byField {
                    let version = self.parts.vault.keyVersion(of: sealed)
                    if try await self.parts.vault.opens(sealed, as: field, of: wallet.walletID) {
                        if let version { opened.insert(version) }
                    } else if !wallet.hasEnded {
                        unopened.append((wallet.walletID, version))
                    }
                }
            }
        }
        let noted = try await store.vaultVersions()
        var damaged: [WalletID] = []
        for (wallet, version) in unopened {
            if let version, !opened.contains(version), !self.isRightKey(version, by: noted) {
                throw RestoreFailure.sealed(wallet: wallet.description)
            }
            if damaged.last != wallet { damaged.append(wallet) }
        }
        let miscounted = try await self.walletsWithoutRecord(in: store)
        return damaged + miscounted.filter { !damaged.contains($0) }
    }

    /// Returns the wallets in use whose attempt record was not written for them by a server.
    private func walletsWithoutRecord(in store: SQLiteWalletStore) async throws -> [WalletID] {
        var (damaged, cursor): ([WalletID], UInt64?) = ([], nil)
        repeat {
            let check = try await store.checkRecords(after: cursor, limit: Self.stepSize)
            damaged += check.damaged
            cursor = check.next
        } while cursor != nil
        return damaged
    }

    /// Returns whether a key that opens no value is still the right key for its version, according to the store.
    ///
    /// Also returns true if the store never recorded a value sealed under that version, because the version number in
    /// the value is then damaged. A store cannot tell for versions before its first one, or for the one right after its
    /// last, which a rotation may have started using without recording it.
    private func isRightKey(_ version: UInt32, by noted: [StoredVaultVersion]) -> Bool {
        guard let first = noted.first?.version, let last = noted.last?.version, version >= first,
            UInt64(version) != UInt64(last) + 1
        else { return false }
        guard let known = noted.first(where: { $0.version == version }) else { return true }
        return known.check == self.parts.vault.check(of: version)
    }

    /// Ends the damaged wallets that are still in use, if the operator chose to.
    ///
    /// Runs after the replay, because the audit log may show that an earlier restore has ended them.
    func end(_ damaged: [WalletID], in store: SQLiteWalletStore) async throws -> [WalletID] {
        var inUse: [WalletID] = []
        for wallet in damaged {
            if try await store.report(of: wallet)?.revocation == nil { inUse.append(wallet) }
        }
        guard !inUse.isEmpty else { return [] }
        guard self.parts.endsDamaged else { throw RestoreFailure.damagedWallets(inUse) }
        let revocation = Revocation(reason: .wallet, mayRegisterAnew: true)
        _ = try await store.end(inUse, as: revocation, at: self.parts.clock.now())
        return inUse
    }

    /// Records that damaged wallets are about to end.
    ///
    /// Every end of a wallet is recorded in this way.
    func beginEnds(
        of wallets: [WalletID],
        in audit: AuditLog
    ) async throws -> [(subject: AuditSubject, begun: UInt64)] {
        guard !wallets.isEmpty else { return [] }
        var ends: [(AuditSubject, UInt64)] = []
        do {
            for subject in AuditSubject(wallets: wallets).inParts {
                let detail = "damaged: a sealed value does not open, or the attempt record is not genuine"
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
            throw error
        }
        return ends
    }

    /// Records that the ends recorded as begun did not happen, so that a later restore does not repeat them.
    func undo(_ ends: [(subject: AuditSubject, begun: UInt64)], in audit: AuditLog, for reason: String) async {
        for end in ends {
            let phase = AuditPhase.failed(of: end.begun, reason: reason)
            await audit.tryAppend(.revokeWallets, by: self.parts.actor, on: end.subject, phase)
        }
    }
}
