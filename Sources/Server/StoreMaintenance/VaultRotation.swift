internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Logging
internal import Secrets
internal import Synchronization
internal import Vault
internal import Vocabulary
internal import WalletStore

// Rotates the vault's keys: a new version starts sealing at once, and values sealed with older versions are resealed in
// the background.
//
//     key file, durable ─▶ passes over all wallets until one finds no old value ─▶ recorded in the store
//
// An interrupted pass leaves no record. The next start therefore repeats it and finds that the resealed values are up
// to date. A resealed value replaces the old one only if the store still contains the old one, so that no PIN key,
// share or code written in the meantime is lost.
extension Maintenance {
    /// The number of wallets read and written by one step.
    private static let resealStep = 8
    private static let countStep = 500
    private static let pause: Duration = .milliseconds(2)
    /// The time after which a module that did not answer is asked again.
    private static let modulePause: Duration = .seconds(1)
    /// An upper bound on the time between a session's end and the commit of its last call.
    private static let inFlight: Duration = .seconds(60)

    /// The time during which an older version may be needed: by tokens, and by sessions, which seal with the newest
    /// version that they have.
    private var neededFor: Duration { self.parts.tokenLifetime + self.parts.sessionLifetime + Self.inFlight }

    /// Adds a key version.
    ///
    /// ``resealIfDue()`` does the rest.
    ///
    /// The rotation is rejected while the previous one is in progress or tokens from before it are still valid. After
    /// two rotations in a row, no key would accept the tokens from before the first one.
    ///
    /// Invariant: with several servers on the store, a version seals only once each of them has it. The first command
    /// adds it to this server's key file, and a later one activates it.
    package func rotate() async throws {
        try self.requireTurn()
        let now = self.parts.clock.now()
        let versions = try await self.recordedVersions(at: now)
        // Nothing was done, so do not throw `unavailable`, which the audit log would record as unclear.
        if let active = versions.last {
            guard active.sealedAnewAt != nil || self.parts.vault.versions.first == active.version else {
                throw MaintenanceFailure.notAllowed(
                    "The last rotation is not finished; `vault status` shows its progress.\(self.damage)"
                )
            }
            // The first version in a key file has no predecessor.
            if versions.count > 1, now < active.activeSince + self.neededFor {
                throw MaintenanceFailure.notAllowed(
                    "Enrollments and sessions from before the last rotation may still need the previous version; retry "
                        + "after \(Self.text(of: active.activeSince + self.neededFor))."
                )
            }
        }
        let version: UInt32
        do throws(KeyFileError) {
            if let pending = self.parts.vault.pendingVersion {
                version = pending
            } else {
                version = try await self.parts.vault.addVersion(activating: self.parts.lease == nil)
            }
        } catch {
            throw MaintenanceFailure(error)
        }
        try self.requireEverywhere(version)
        _ = try await self.record(version, at: now)
        if version != self.parts.vault.activeVersion {
            do { try await self.parts.vault.activate(version) } catch { throw MaintenanceFailure(error) }
        }
        self.parts.log.notice("vault keys rotated", metadata: ["version": "\(version)"])
        _ = try await self.recordedVersions(at: now)
        self.state.withLock { $0.reseal = ResealProgress(version: version) }
        self.askedReseals.yield()
    }

    /// Rejects a version that another server does not have.
    private func requireEverywhere(_ version: UInt32) throws(MaintenanceFailure) {
        guard let lease = self.parts.lease, let name = self.parts.vault.name(of: version) else { return }
        let missing = lease.servers(lacking: name)
        guard !missing.isEmpty else { return }
        throw .notAllowed(
            "Version \(version) is in this server's key file and does not seal yet, since these servers lack it: "
                + "\(missing.joined(separator: ", ")). Copy the key file to them, run `admin reload` there, and repeat "
                + "the command here."
        )
    }

    /// Seals with the version that another server has activated.
    ///
    /// If this fails, for example because the key file cannot be written, no new wallet is sealed with the older
    /// version once tokens from before the rotation have expired. The other server may remove that version a session's
    /// lifetime later, and could not open the wallet.
    func useNotedVersion() async {
        guard self.parts.lease != nil, let newest = try? await self.parts.store.vaultVersions().last else { return }
        let vault = self.parts.vault
        guard newest.version > vault.activeVersion else { return }
        if self.parts.clock.now() >= newest.activeSince + self.parts.tokenLifetime {
            vault.requireForNew(newest.version)
        }
        guard vault.check(of: newest.version) == newest.check else { return }
        do {
            try await vault.activate(newest.version)
            self.parts.log.notice("vault keys rotated", metadata: ["version": "\(newest.version)"])
        } catch {
            self.parts.log.error("the key file was not changed", metadata: ["reason": "\(error)"])
        }
    }

    /// Records the active version and returns all versions recorded in the store.
    private func recordedVersions(at now: Timestamp) async throws -> [StoredVaultVersion] {
        try await self.record(self.parts.vault.activeVersion, at: now)
    }

    private func record(_ version: UInt32, at now: Timestamp) async throws -> [StoredVaultVersion] {
        let check = self.parts.vault.check(of: version) ?? []
        return try await self.parts.store.note(vaultVersion: version, check: check, at: now)
    }

    /// Reseals values of older versions, unless that was done after the active version started sealing.
    func resealIfDue() async {
        let active = self.parts.vault.activeVersion
        do {
            let noted = try await self.record(active, at: self.parts.clock.now())
            guard noted.last(where: { $0.version == active })?.sealedAnewAt == nil else { return }
            let isFirst = self.parts.vault.versions.first == active
            if !isFirst { self.state.withLock { $0.reseal = ResealProgress(version: active) } }
            var count = 0
            while true {
                let pass = try await self.resealPass()
                count += pass.replaced
                // An operator must end a wallet that cannot be opened. The others do not wait for it.
                self.state.withLock { $0.damaged = pass.damaged }
                if let damaged = pass.damaged { throw damaged }
                if pass.replaced == 0 { break }
            }
            // If another rotation took place in the meantime, it starts its own pass.
            guard self.parts.vault.activeVersion == active else { return }
            do {
                try await self.parts.store.noteSealedAnew(vaultVersion: active, at: self.parts.clock.now())
            } catch StoreError.notErased {
                // Withdraw the record, so that the next run repeats the erasure.
                try? await self.parts.store.noteSealedAnew(vaultVersion: active, at: nil)
                throw StoreError.notErased
            }
            if !isFirst {
                let result = "version \(active), \(count) wallets"
                try await self.parts.audit.append(.resealed, by: .server, .done(of: nil, result: result))
                self.parts.log.notice("vault: all values resealed", metadata: ["version": "\(active)"])
                self.state.withLock { $0.reseal?.state = .done }
            }
        } catch is CancellationError {
            // The next start continues from here.
        } catch {
            self.resealFailed(error)
        }
    }

    /// Records the reason for which resealing does not proceed, and logs it once.
    private func resealFailed(_ error: any Error) {
        let isNew = self.state.withLock { state in
            let isNew = state.reseal?.problem != "\(error)"
            state.reseal?.state = .failed
            state.reseal?.problem = "\(error)"
            return isNew
        }
        guard isNew else { return }
        self.parts.log.warning("resealing failed and is retried", metadata: ["reason": "\(error)"])
    }

    /// Examines every wallet once.
    ///
    /// Returns the number of resealed wallets, the wallets that cannot be read, and those in use that cannot be opened.
    /// An ended wallet has only its identity left. If that cannot be opened, no rotation waits for it.
    ///
    /// While the module does not answer, the pass waits at a wallet. Another pass would examine all wallets before it
    /// again, which takes hours in a large store.
    private func resealPass() async throws -> (replaced: Int, damaged: DamagedWallets?) {
        let wallets = try await self.parts.store.walletCount()
        var (replaced, done) = (0, 0)
        var damaged: [WalletID] = []
        try await self.parts.store.forEachStep(of: Self.resealStep) { step, unreadable in
            damaged += unreadable
            var replacements: [SealedReplacement] = []
            for wallet in step where self.isOutdated(wallet.values) {
                do {
                    let new = try await self.resealed(wallet.values, of: wallet.walletID)
                    replacements.append(SealedReplacement(walletID: wallet.walletID, old: wallet.values, new: new))
                } catch is VaultError {
                    if !wallet.hasEnded { damaged.append(wallet.walletID) }
                }
            }
            if !replacements.isEmpty { try await self.parts.store.replace(replacements) }
            replaced += replacements.count
            done += step.count + unreadable.count
            let progress = done
            self.state.withLock { state in
                state.reseal?.state = .running
                state.reseal?.problem = nil
                state.reseal?.wallets = max(wallets, progress)
                state.reseal?.walletsDone = progress
            }
            try await Task.sleep(for: Self.pause)
        }
        return (replaced, damaged.isEmpty ? nil : DamagedWallets(ids: damaged))
    }

    private func isOutdated(_ values: SealedValues) -> Bool {
        let active = self.parts.vault.activeVersion
        return values.byField.contains { self.parts.vault.keyVersion(of: $0.sealed) != active }
    }

    /// Derives the keys of a wallet once the module answers.
    private func keys(of wallet: WalletID, opening values: SealedValues) async throws -> WalletKeys {
        while true {
            do throws(VaultError) {
                return try await self.parts.vault.keys(of: wallet, opening: values.byField.map(\.sealed))
            } catch {
                self.resealFailed(error)
                try await Task.sleep(for: Self.modulePause)
            }
        }
    }

    private func resealed(_ values: SealedValues, of wallet: WalletID) async throws -> SealedValues {
        let vault = self.parts.vault
        let keys = try await self.keys(of: wallet, opening: values)
        func reseal(_ sealed: Sealed, _ field: VaultField) throws(VaultError) -> Sealed {
            try keys.seal(try keys.open(sealed, as: field), as: field)
        }
        var identity = try vault.openIdentity(values.identity, of: wallet)
        identity.pinKey = try reseal(identity.pinKey, .pin)
        var fresh = SealedValues(identity: try vault.sealIdentity(identity, of: wallet), shares: nil)
        if let shares = values.shares {
            fresh.shares = SealedValues.Shares(
                unlock: try reseal(shares.unlock, .unlockShare),
                presence: try reseal(shares.presence, .presenceShare),
                deletionCode: nil
            )
            if let code = shares.deletionCode { fresh.shares?.deletionCode = try reseal(code, .deletionCode) }
            if let unlock = shares.next.unlock { fresh.shares?.next.unlock = try reseal(unlock, .unlockShare) }
            if let presence = shares.next.presence {
                fresh.shares?.next.presence = try reseal(presence, .presenceShare)
            }
        }
        return fresh
    }
}

extension Maintenance {
    /// Examines every wallet and returns how much each version is used.
    package func vaultKeys() async throws -> [VaultKeyUsage] { try await self.usage().versions }

    /// Returns how much each version is used, and the wallets that cannot be read; while there are any, each may need
    /// any version, and no version is retirable.
    private func usage() async throws -> (versions: [VaultKeyUsage], unreadable: DamagedWallets?) {
        let (vault, store, now) = (self.parts.vault, self.parts.store, self.parts.clock.now())
        let noted = try await self.recordedVersions(at: now)
        var (counts, unreadable): ([UInt32: Int], [WalletID]) = ([:], [])
        try await store.forEachStep(of: Self.countStep) { step, damaged in
            unreadable += damaged
            for wallet in step where try await self.needsItsKeys(wallet) {
                for (_, sealed) in wallet.values.byField {
                    counts[vault.keyVersion(of: sealed) ?? 0, default: 0] += 1
                }
            }
        }
        let active = vault.activeVersion
        let rest = (noted.last { $0.version == active }?.activeSince).map { $0 + self.neededFor }
        // Include versions that sealed a value but are missing from the key file. Their values cannot be opened.
        let versions = Set(vault.versions).union(counts.keys.filter { $0 > 0 }).sorted()
        let usage = versions.map { version in
            VaultKeyUsage(
                version: version,
                isActive: version == active,
                values: counts[version, default: 0],
                activeSince: noted.first { $0.version == version }?.activeSince,
                // rule: vault-retired-too-early
                isRetirable: version < active && counts[version, default: 0] == 0 && unreadable.isEmpty
                    && rest.map { now >= $0 } ?? false,
                isInModule: vault.isInModule(version)
            )
        }
        return (usage, unreadable.isEmpty ? nil : DamagedWallets(ids: unreadable))
    }

    /// Returns whether a wallet needs its keys, because it is in use or because its identity can still be opened.
    private func needsItsKeys(_ wallet: SealedWallet) async throws -> Bool {
        let (vault, identity) = (self.parts.vault, wallet.values.identity)
        guard wallet.hasEnded, vault.keyVersion(of: identity) != vault.activeVersion else { return true }
        return vault.opens(
            identity,
            as: .identity,
            with: try await vault.keys(of: wallet.walletID, opening: [identity])
        )
    }

    /// A sentence about the wallets that the last pass could not reseal, empty if it resealed all of them.
    private var damage: String { self.state.withLock { $0.damaged.map { " \($0)" } ?? "" } }

    /// Removes the versions that no value needs and returns the others.
    ///
    /// If a value is still sealed with an older version, for example because a call in flight stored it after the last
    /// pass, a new pass is requested to reseal it.
    package func retire() async throws -> [VaultKeyUsage] {
        try self.requireTurn()
        let (versions, unreadable) = try await self.usage()
        let retirable = Set(versions.filter(\.isRetirable).map(\.version)).intersection(self.parts.vault.versions)
        if versions.contains(where: { !$0.isActive && $0.values > 0 }) {
            let (store, active) = (self.parts.store, self.parts.vault.activeVersion)
            try await store.noteSealedAnew(vaultVersion: active, at: nil)
            self.askedReseals.yield()
        }
        guard !retirable.isEmpty else {
            throw MaintenanceFailure.notAllowed(try await self.reasonForNone(of: versions, unreadable))
        }
        do { try await self.parts.vault.remove(retirable) } catch { throw MaintenanceFailure(error) }
        self.parts.log.notice("vault keys retired", metadata: ["versions": "\(retirable.sorted())"])
        let left = self.parts.vault.versions
        return versions.filter { left.contains($0.version) }
    }
}

extension Maintenance {
    /// Returns the reason why no version can be removed, with the time at which one can be removed.
    private func reasonForNone(of versions: [VaultKeyUsage], _ unreadable: DamagedWallets?) async throws -> String {
        let older = versions.filter { !$0.isActive }
        guard !older.isEmpty else { return "Nothing was removed: the only version is the active one." }
        let needed = older.filter { $0.values > 0 }
            .map { "version \($0.version) still seals \($0.values) value\($0.values == 1 ? "" : "s")" }
        guard needed.isEmpty else {
            return
                "Nothing was removed: \(needed.prefix(4).joined(separator: ", ")); these values are being resealed."
                + self.damage
        }
        if let unreadable { return "Nothing was removed. \(unreadable)" }
        let now = self.parts.clock.now()
        let since = try await self.recordedVersions(at: now).last?.activeSince ?? now
        return "Nothing was removed: enrollments and sessions from before the last rotation may need the older "
            + "versions until \(Self.text(of: since + self.neededFor))."
    }

    /// Formats a time as ISO 8601, rounded up to a whole second.
    private static func text(of time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.milliseconds / 1000 + 1)).formatted(.iso8601)
    }
}

extension MaintenanceFailure {
    /// Distinguishes a key file that was definitely not changed from one that may have been.
    fileprivate init(_ error: KeyFileError) {
        self =
            switch error {
            case .otherKeys, .noModule, .notInModule, .halfInModule, .nextNotInModule, .unreachable:
                .notAllowed("\(error)")
            case .file, .mode, .damaged, .converted, .otherFormat: .unavailable("\(error)")
            }
    }
}

// Replaces the shares of all wallets, after the store and its key were stolen.
//
//     refresh begun, durable ─▶ next shares for every wallet ─▶ each wallet confirms its own after a right PIN
//
// If a pass is interrupted, the next start continues after the last wallet that the pass reached.
extension Maintenance {
    /// The number of wallets read and written by one step.
    private static let refreshStep = 64
    private static let refreshPause: Duration = .milliseconds(2)

    /// Starts replacing the shares of all wallets.
    ///
    /// ``refreshSharesIfDue()`` does the rest.
    package func refreshShares() async throws -> ShareRefreshProgress {
        try self.requireTurn()
        try await self.parts.store.beginShareRefresh(at: self.parts.clock.now())
        let wallets = try await self.parts.store.walletCount()
        let progress = ShareRefreshProgress(wallets: wallets)
        self.state.withLock { $0.refresh = progress }
        self.parts.log.notice("refresh of all shares begun")
        self.askedReseals.yield()
        return progress
    }

    /// Creates next shares for the wallets that the current refresh has not reached yet, if a refresh is in progress.
    func refreshSharesIfDue() async {
        let store = self.parts.store
        do {
            var isDue = false
            while let wallets = try await store.walletsToRefresh(limit: Self.refreshStep) {
                isDue = true
                var offered: [OfferedShares] = []
                for wallet in wallets {
                    let next = wallet.hasEnded ? nil : try await self.nextShares(of: wallet.walletID)
                    offered.append(OfferedShares(cursor: wallet.cursor, walletID: wallet.walletID, next: next))
                }
                try await store.offer(offered)
                let count = wallets.count
                self.state.withLock { state in
                    var refresh = state.refresh ?? ShareRefreshProgress()
                    refresh.state = .running
                    refresh.walletsDone += count
                    refresh.wallets = max(refresh.wallets, refresh.walletsDone)
                    state.refresh = refresh
                }
                try await Task.sleep(for: Self.refreshPause)
            }
            guard isDue else { return }
            try await self.parts.audit.append(.sharesOffered, by: .server, .done(of: nil, result: "all wallets"))
            self.parts.log.notice("next shares made for all wallets; each receives them at its next unlock")
            self.state.withLock { $0.refresh?.state = .done }
        } catch is CancellationError {
            // The next start continues from here.
        } catch {
            self.parts.log.warning("making next shares failed and is retried", metadata: ["reason": "\(error)"])
            self.state.withLock { state in
                state.refresh?.state = .failed
                state.refresh?.problem = "\(error)"
            }
        }
    }

    private func nextShares(of wallet: WalletID) async throws -> NextShares {
        let keys = try await self.parts.vault.keys(of: wallet, opening: [])
        return NextShares(
            unlock: try keys.seal(.random(count: Share.byteCount), as: .unlockShare),
            presence: try keys.seal(.random(count: Share.byteCount), as: .presenceShare)
        )
    }

    /// Returns the number of wallets that have not yet confirmed all their next shares.
    package func unconfirmedShares() async throws -> Int {
        try await self.parts.store.unconfirmedShares()
    }
}

/// Wallets in use with a sealed value that cannot be read or opened.
struct DamagedWallets: Error, Hashable, CustomStringConvertible {
    var ids: [WalletID]

    /// Describes the problem and how to solve it.
    ///
    /// The text must be shorter than the limit for a sentence in an answer.
    var description: String {
        "The sealed values of \(self.ids.named(atMost: 4)) cannot be read, or do not open with the keys of the key "
            + "file. If no copy of the file has the missing key, end these wallets with `admin revoke wallet`; the "
            + "rotation then continues."
    }
}

extension [WalletID] {
    /// Returns the first ids and the number of remaining ones, such as "wallet …" or "wallets …, … and 3 more".
    package func named(atMost limit: Int) -> String {
        let more = self.count > limit ? " and \(self.count - limit) more" : ""
        let names = self.prefix(limit).map(\.description).joined(separator: ", ")
        return "wallet\(self.count == 1 ? "" : "s") \(names)\(more)"
    }
}

extension WalletStore {
    /// Calls `body` with the sealed values of every wallet, and with the wallets that cannot be read, for at most
    /// `limit` wallets at a time.
    func forEachStep(
        of limit: Int,
        _ body: ([SealedWallet], _ unreadable: [WalletID]) async throws -> Void
    ) async throws {
        var after: UInt64?
        repeat {
            let (page, unreadable) = try await self.perform(SealedValuesOfWallets(after: after, limit: limit))
            try await body(page.wallets, unreadable)
            after = page.next
        } while after != nil
    }
}

extension SealedWallet {
    /// Whether the wallet has ended, in which case its shares are destroyed and only its identity remains.
    var hasEnded: Bool { self.values.shares == nil }
}

extension SealedValues {
    /// The sealed values, each with the field it was sealed for.
    var byField: [(field: VaultField, sealed: Sealed)] {
        var values: [(VaultField, Sealed)] = [(.identity, self.identity)]
        if let shares {
            values += [(.unlockShare, shares.unlock), (.presenceShare, shares.presence)]
            if let code = shares.deletionCode { values.append((.deletionCode, code)) }
            if let unlock = shares.next.unlock { values.append((.unlockShare, unlock)) }
            if let presence = shares.next.presence { values.append((.presenceShare, presence)) }
        }
        return values
    }
}
