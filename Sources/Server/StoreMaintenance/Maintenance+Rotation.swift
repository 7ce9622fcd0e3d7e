internal import AuditLog
internal import Foundation
internal import Logging
internal import Secrets
internal import Vault
internal import Synchronization
internal import Vocabulary
internal import WalletStore

// The vault's keys: a new version seals at once, what older ones sealed is sealed anew in the background.
//
//     key file, durable ─▶ pass over all wallets, again until one finds nothing old ─▶ noted in the store
//
// Nothing is noted of a pass that was cut off, so the next start makes it again: what it did already it then finds done. A
// value takes another's place only where that one still stands, so that no PIN key, share or code that came meanwhile is lost.
extension Maintenance {
    /// Wallets that one step reads and writes.
    private static let resealedAtOnce = 16
    private static let countedAtOnce = 500
    private static let pause: Duration = .milliseconds(2)
    /// Longer than any call takes from the seal to the commit.
    private static let inFlight: Duration = .seconds(600)

    /// How long an older version may still be needed by what is in no store: enrollment tokens, and calls in flight.
    private var neededFor: Duration { self.parts.tokenLifetime + Self.inFlight }

    /// Adds a key version; ``resealIfDue()`` does the rest.
    ///
    /// Not while the last rotation goes on, nor while tokens live that were made before it: of two rotations in a row the
    /// first one's tokens would be taken by no key.
    package func rotate() async throws {
        let now = self.parts.clock.now()
        let versions = try await self.notedVersions(at: now)
        // Refused for sure, so not `unavailable`: the audit log would say that it may have been done.
        if let active = versions.last {
            guard active.sealedAnewAt != nil || self.parts.vault.versions.count == 1 else {
                throw MaintenanceFailure.notAllowed(
                    "The last rotation is not finished; its progress is in `vault status`.\(self.damage)"
                )
            }
            // The first version of a key file had none before it.
            if versions.count > 1, now < active.activeSince + self.neededFor {
                throw MaintenanceFailure.notAllowed(
                    "What was enrolled before the last rotation may still need the version before it; again from "
                        + "\(Self.text(of: active.activeSince + self.neededFor)) on."
                )
            }
        }
        let version: UInt32
        do throws(KeyFileError) { version = try self.parts.vault.addVersion() } catch {
            throw MaintenanceFailure(error)
        }
        self.parts.log.notice("vault keys rotated", metadata: ["version": "\(version)"])
        _ = try await self.notedVersions(at: now)
        self.state.withLock { $0.reseal = ResealProgress(version: version) }
        self.askedReseals.yield()
    }

    /// What the store knows of versions, after the active one was noted in it.
    private func notedVersions(at now: Timestamp) async throws -> [StoredVaultVersion] {
        try await self.noted(self.parts.vault.activeVersion, at: now)
    }

    private func noted(_ version: UInt32, at now: Timestamp) async throws(StoreError) -> [StoredVaultVersion] {
        let check = self.parts.vault.check(of: version) ?? []
        return try await self.parts.store.note(vaultVersion: version, check: check, at: now)
    }

    /// Seals anew what older versions sealed, unless that was done since the active one seals.
    func resealIfDue() async {
        let active = self.parts.vault.activeVersion
        do {
            let noted = try await self.noted(active, at: self.parts.clock.now())
            guard noted.last(where: { $0.version == active })?.sealedAnewAt == nil else { return }
            let isFirst = self.parts.vault.versions.first == active
            if !isFirst { self.state.withLock { $0.reseal = ResealProgress(version: active) } }
            var count = 0
            while true {
                let pass = try await self.resealPass()
                count += pass.replaced
                // A wallet that does not open is the operator's to end; the others do not wait for it.
                self.state.withLock { $0.damaged = pass.damaged }
                if let damaged = pass.damaged { throw damaged }
                if pass.replaced == 0 { break }
            }
            // Another rotation in between has a pass of its own.
            guard self.parts.vault.activeVersion == active else { return }
            do throws(StoreError) {
                try await self.parts.store.noteSealedAnew(vaultVersion: active, at: self.parts.clock.now())
            } catch {
                // Taken back, so that the next time goes on from here and not behind it.
                if error == .notErased { try? await self.parts.store.noteSealedAnew(vaultVersion: active, at: nil) }
                throw error
            }
            if !isFirst {
                let result = "version \(active), \(count) wallets"
                try await self.parts.audit.append(.resealed, by: .server, .done(of: nil, result: result))
                self.parts.log.notice("vault: all is sealed anew", metadata: ["version": "\(active)"])
                self.state.withLock { $0.reseal?.state = .done }
            }
        } catch is CancellationError {
            // The next start goes on.
        } catch {
            self.parts.log.warning("sealing anew is tried again", metadata: ["reason": "\(error)"])
            self.state.withLock { state in
                state.reseal?.state = .failed
                state.reseal?.problem = "\(error)"
            }
        }
    }

    /// Looks at every wallet once: how many had something old, and those in use that do not open.
    ///
    /// What is left of one that has ended says who it was, and nothing else: where that does not open, no rotation waits.
    private func resealPass() async throws -> (replaced: Int, damaged: DamagedWallets?) {
        let wallets = try await self.parts.store.walletCount()
        var (replaced, done, after): (Int, Int, UInt64?) = (0, 0, nil)
        var damaged: [WalletID] = []
        while true {
            let some = try await self.parts.store.sealedValues(after: after, limit: Self.resealedAtOnce)
            var replacements: [SealedReplacement] = []
            for wallet in some where self.isOutdated(wallet.values) {
                do {
                    let new = try await self.sealedAnew(wallet.values, of: wallet.walletID)
                    replacements.append(SealedReplacement(walletID: wallet.walletID, old: wallet.values, new: new))
                } catch VaultError.notOurs {
                    if !wallet.hasEnded { damaged.append(wallet.walletID) }
                }
            }
            if !replacements.isEmpty { try await self.parts.store.replace(replacements) }
            replaced += replacements.count
            done += some.count
            let progress = done
            self.state.withLock { state in
                state.reseal?.wallets = max(wallets, progress)
                state.reseal?.walletsDone = progress
            }
            guard some.count == Self.resealedAtOnce, let last = some.last else {
                return (replaced, damaged.isEmpty ? nil : DamagedWallets(ids: damaged))
            }
            after = last.place
            try await Task.sleep(for: Self.pause)
        }
    }

    private func isOutdated(_ values: SealedValues) -> Bool {
        let active = self.parts.vault.activeVersion
        return values.byField.contains { self.parts.vault.keyVersion(of: $0.sealed) != active }
    }

    private func sealedAnew(_ values: SealedValues, of wallet: WalletID) async throws -> SealedValues {
        let vault = self.parts.vault
        func anew(_ sealed: Sealed, _ field: VaultField) async throws(VaultError) -> Sealed {
            try await vault.seal(try await vault.unseal(sealed, as: field, of: wallet), as: field, of: wallet)
        }
        var fresh = SealedValues(identity: try await anew(values.identity, .identity), shares: nil)
        if let shares = values.shares {
            fresh.shares = SealedValues.Shares(
                unlock: try await anew(shares.unlock, .unlockShare),
                presence: try await anew(shares.presence, .presenceShare),
                deletionCode: nil
            )
            if let code = shares.deletionCode { fresh.shares?.deletionCode = try await anew(code, .deletionCode) }
        }
        return fresh
    }
}

extension Maintenance {
    /// What each version seals, by a look at every wallet.
    package func vaultKeys() async throws -> [VaultKeyUsage] {
        let (vault, store, now) = (self.parts.vault, self.parts.store, self.parts.clock.now())
        let noted = try await self.notedVersions(at: now)
        var counts: [UInt32: Int] = [:]
        var after: UInt64?
        while true {
            let some = try await store.sealedValues(after: after, limit: Self.countedAtOnce)
            for wallet in some where try await self.needsItsKeys(wallet) {
                for (_, sealed) in wallet.values.byField {
                    counts[vault.keyVersion(of: sealed) ?? 0, default: 0] += 1
                }
            }
            guard some.count == Self.countedAtOnce, let last = some.last else { break }
            after = last.place
        }
        let active = vault.activeVersion
        let rest = (noted.last { $0.version == active }?.activeSince).map { $0 + self.neededFor }
        // Also those that sealed something and are not in the key file: what they sealed does not open.
        let versions = Set(vault.versions).union(counts.keys.filter { $0 > 0 }).sorted()
        return versions.map { version in
            VaultKeyUsage(
                version: version,
                isActive: version == active,
                values: counts[version, default: 0],
                activeSince: noted.first { $0.version == version }?.activeSince,
                isRetirable: version < active && counts[version, default: 0] == 0 && rest.map { now >= $0 } ?? false
            )
        }
    }

    /// Whether any key must be kept for a wallet: for one in use, and for one that has ended where that opens.
    private func needsItsKeys(_ wallet: SealedWallet) async throws -> Bool {
        let (vault, identity) = (self.parts.vault, wallet.values.identity)
        guard wallet.hasEnded, vault.keyVersion(of: identity) != vault.activeVersion else { return true }
        return try await vault.opens(identity, as: .identity, of: wallet.walletID)
    }

    /// What the last look at all wallets could not seal anew, as a further sentence; empty where it could.
    private var damage: String { self.state.withLock { $0.damaged.map { " \($0)" } ?? "" } }

    /// Removes the versions that nothing needs any more; what is left then.
    ///
    /// Where one but seals something, as what a call in flight kept behind the last pass, that is sealed anew first.
    package func retire() async throws -> [VaultKeyUsage] {
        let versions = try await self.vaultKeys()
        let retirable = Set(versions.filter(\.isRetirable).map(\.version)).intersection(self.parts.vault.versions)
        if versions.contains(where: { !$0.isActive && $0.values > 0 }) {
            let (store, active) = (self.parts.store, self.parts.vault.activeVersion)
            try await store.noteSealedAnew(vaultVersion: active, at: nil)
            self.askedReseals.yield()
        }
        guard !retirable.isEmpty else {
            throw MaintenanceFailure.notAllowed(try await self.whyNone(of: versions))
        }
        do throws(KeyFileError) { try self.parts.vault.remove(retirable) } catch { throw MaintenanceFailure(error) }
        self.parts.log.notice("vault keys retired", metadata: ["versions": "\(retirable.sorted())"])
        let left = self.parts.vault.versions
        return versions.filter { left.contains($0.version) }
    }
}

extension Maintenance {
    /// Why no version can be removed, and from when on one can.
    private func whyNone(of versions: [VaultKeyUsage]) async throws -> String {
        let older = versions.filter { !$0.isActive }
        guard !older.isEmpty else { return "There is no version but the one that seals." }
        let needed = older.filter { $0.values > 0 }
            .map { "version \($0.version) still seals \($0.values) value\($0.values == 1 ? "" : "s")" }
        guard needed.isEmpty else {
            return
                "Nothing was removed: \(needed.prefix(4).joined(separator: ", ")); what is found so is sealed anew now."
                + self.damage
        }
        let now = self.parts.clock.now()
        let since = try await self.notedVersions(at: now).last?.activeSince ?? now
        return "Nothing was removed: what was enrolled before the last rotation may need the older versions until "
            + "\(Self.text(of: since + self.neededFor))."
    }

    /// As ISO 8601, to the second.
    private static func text(of time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.milliseconds / 1000 + 1)).formatted(.iso8601)
    }
}

extension MaintenanceFailure {
    /// Distinguishes a key file that was not changed from one that may have been.
    fileprivate init(_ error: KeyFileError) {
        self = if case .otherKeys = error { .notAllowed("\(error)") } else { .unavailable("\(error)") }
    }
}
