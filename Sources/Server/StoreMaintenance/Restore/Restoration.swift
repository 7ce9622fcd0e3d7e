package import AuditLog
internal import Crypto
internal import HostSystem
package import PINPolicy
package import Vault
package import Vocabulary
internal import WalletStore

/// Restores a backup without granting fresh attempts or reviving a revoked wallet.
///
///     label, log ─▶ pages, digest ─▶ soundness, every sealed value ─▶ epoch ─▶ revocations ─▶ on record ─▶ in place
///
/// Invariants: the new epoch is later than any in the backup or the audit log. No row from the backup can therefore
/// pass for one from the new epoch, no matter how often and in which order backups are restored. The store is moved
/// into place only after all other steps and a durable audit entry that announces it. If a restore is killed before
/// that, it leaves no store behind and must be started again.
package struct Restoration: Sendable {
    /// The inputs of a restore.
    package struct Parts: Sendable {
        package var backup: String
        package var dataFolder: String
        package var auditLog: String
        package var vault: KeyFileVault
        package var clock: any WallClock
        /// The actor recorded in the audit log.
        package var actor: AuditActor
        package var rule: EpochRule
        /// The newest audit log entry according to the server's log, or nil if unknown.
        package var last: AuditMark?
        /// Whether to end wallets with a sealed value that cannot be opened.
        ///
        /// If false, such wallets prevent the restore.
        package var endsDamaged = false
        /// The generation and step on record with a witness, or 0 without a witness.
        package var witnessed: (generation: UInt64, step: UInt64) = (0, 0)
        /// Called at the beginning of each stage.
        ///
        /// If it throws, the restore stops there as if the process had been killed.
        package var stage: @Sendable (Stage) throws -> Void
        package var onNewest: @Sendable (AuditMark) -> Void
        package var onWritten: @Sendable (AuditEntry, [UInt8]) -> Void = { _, _ in }
        package var onFatal: @Sendable (String) -> Never

        package init(
            backup: String,
            dataFolder: String,
            auditLog: String,
            vault: KeyFileVault,
            clock: any WallClock,
            actor: AuditActor,
            rule: EpochRule = .strict,
            last: AuditMark? = nil,
            stage: @escaping @Sendable (Stage) throws -> Void = { _ in },
            onNewest: @escaping @Sendable (AuditMark) -> Void = { _ in },
            onFatal: @escaping @Sendable (String) -> Never = { fatalError($0) }
        ) {
            self.backup = backup
            self.dataFolder = dataFolder
            self.auditLog = auditLog
            self.vault = vault
            self.clock = clock
            self.actor = actor
            self.rule = rule
            self.last = last
            self.stage = stage
            self.onNewest = onNewest
            self.onFatal = onFatal
        }
    }

    /// The stages of a restore, in order.
    package enum Stage: Hashable, Sendable, CaseIterable {
        case copying, checking, openingValues, openingEpoch, replaying, recording, placing, finishing
    }

    /// The result of reading the backup and the logs.
    ///
    /// Nothing has been changed.
    package struct Plan: Sendable {
        let label: BackupLabel
        let logs: RestoreLogs
        /// The reason the logs do not cover all changes since the backup, or nil if they do.
        package var problem: LogProblem? { self.logs.problem }
        /// The point in time that the backup reflects.
        package var takenAt: Timestamp { self.label.takenAt }
        /// The epoch of the backup, and the latest epoch found in the backup and the logs.
        package var backupEpoch: Int { self.label.epoch }
        package var latestEpoch: Int { max(self.label.epoch, self.logs.epoch) }
    }

    /// The result of a restore.
    package struct Report: Hashable, Sendable {
        package var epoch: Int
        package var wallets: Int
        package var replayed: ReplayReport
        /// The wallets ended because they were damaged.
        package var damaged: [WalletID]
        /// The point in time that the backup reflects.
        package var takenAt: Timestamp
        /// The number of earlier restores of the same backup, each of which may have granted further attempts.
        package var earlierRestores: Int
        /// The reason the logs did not cover all changes since the backup, or nil if they did.
        package var problem: LogProblem?
    }

    let parts: Parts

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Reads the backup label and the audit logs without changing anything.
    package func plan() async throws -> Plan {
        try await Self.translating {
            let label = try await self.label()
            return Plan(label: label, logs: try await RestoreLogs(self.parts, of: label))
        }
    }

    /// Runs part of a restore and converts every error from a lower layer to a ``RestoreFailure``.
    private static func translating<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch { throw RestoreFailure(error) ?? error }
    }

    private func label() async throws -> BackupLabel {
        let path = self.parts.backup
        do {
            let file = try AppendFile(reading: path, followingLinks: true)
            let length = try file.byteCount()
            guard length > BackupLabel.byteCount else { throw BackupLabel.Problem.malformed }
            let start = length - BackupLabel.byteCount
            let bytes = try file.read(at: start, atMost: BackupLabel.byteCount)
            let label = try BackupLabel.read(bytes, by: self.parts.vault)
            guard label.pagesByteCount == start else { throw BackupLabel.Problem.foreign }
            guard !label.isDamaged || self.parts.rule != .trust else { throw RestoreFailure.uncharged(path) }
            return label
        } catch BackupLabel.Problem.malformed {
            throw RestoreFailure.notABackup(path)
        } catch BackupLabel.Problem.foreign {
            throw RestoreFailure.foreign(path)
        }
    }
}

extension Restoration {
    /// Restores the backup unless `confirm` throws.
    ///
    /// If the plan has a ``Plan/problem``, an operator must accept the loss. The data folder is locked before anything
    /// is read, so that the plan stays valid: in the meantime, no other process can restore a backup, serve wallets or
    /// revoke them. A damaged log is not continued but kept next to the new one.
    package func run(_ confirm: (Plan) throws -> Void = { _ in }) async throws -> Report {
        try await Self.translating {
            let staged = try StagedStore(folder: self.parts.dataFolder)
            do {
                let plan = try await self.plan()
                try confirm(plan)
                return try await self.run(plan, in: staged)
            } catch {
                staged.abandon()
                throw error
            }
        }
    }

    private func run(_ plan: Plan, in staged: StagedStore) async throws -> Report {
        try self.parts.stage(.copying)
        try await self.copyPages(plan.label, to: staged.file)
        try self.parts.stage(.checking)
        let key = RecordKey.derived(by: self.parts.vault)
        let onFatal = self.parts.onFatal
        let store: SQLiteWalletStore
        do throws(StoreOpenError) {
            store = try staged.open(key: key) { onFatal($0.description) }
        } catch .otherSchema(let differences) {
            throw RestoreFailure.unsound(self.parts.backup, differences)
        }
        do {
            let report = try await self.change(store, plan)
            try self.parts.stage(.recording)
            let audit = try await self.openAudit(plan, store, epoch: report.epoch)
            try await closing(await audit.close()) { try await self.place(staged, store, audit, plan, report) }
            return report
        } catch {
            await store.close()
            throw error
        }
    }

    /// Moves the store into place between its two audit entries.
    ///
    /// The store names the first of them.
    private func place(
        _ staged: StagedStore,
        _ store: SQLiteWalletStore,
        _ audit: AuditLog,
        _ plan: Plan,
        _ report: Report
    ) async throws {
        let detail =
            "epoch \(report.epoch), \(self.parts.rule.rawValue), backup of \(plan.takenAt.milliseconds) "
            + "(\(plan.label.name)), restored \(Self.times(report.earlierRestores)) before"
        let ends = try await self.beginEnds(of: report.damaged, in: audit)
        let begun: UInt64
        do {
            begun = try await audit.append(.restore, by: self.parts.actor, .begun, detail: detail).number
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            throw error
        }
        do {
            store.announce(StoredAuditMark(audit.newest))
            try await store.keepAuditMark()
            await store.close()
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            await audit.tryAppend(.restore, by: self.parts.actor, .failed(of: begun, reason: "\(error)"))
            throw error
        }
        try self.parts.stage(.placing)
        do {
            try MarkCopy.create(besideAuditLog: self.parts.auditLog)
            try staged.place()
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            await audit.tryAppend(.restore, by: self.parts.actor, .failed(of: begun, reason: "\(error)"))
            throw error
        }
        try self.parts.stage(.finishing)
        let replayed = report.replayed
        let result =
            "\(Self.wallets(report.wallets)), \(replayed.ended) ended again, \(replayed.blocked) blocked again, "
            + "\(replayed.denied) codes denied again"
            + (report.damaged.isEmpty ? "" : ", \(report.damaged.count) damaged ones ended")
            + (plan.problem == nil ? "" : "; without a whole audit log")
        do throws(AuditLogError) {
            for end in ends {
                let phase = AuditPhase.done(of: end.begun, result: "\(end.subject.wallets.count) revoked")
                try await audit.append(.revokeWallets, by: self.parts.actor, on: end.subject, phase)
            }
            try await audit.append(.restore, by: self.parts.actor, .done(of: begun, result: result), detail: detail)
        } catch {
            throw RestoreFailure.placed(error)
        }
    }

    /// Formats a number of times.
    package static func times(_ count: Int) -> String { count == 1 ? "1 time" : "\(count) times" }

    /// Formats a number of wallets.
    package static func wallets(_ count: Int) -> String { count == 1 ? "1 wallet" : "\(count) wallets" }

    private func openAudit(_ plan: Plan, _ store: SQLiteWalletStore, epoch: Int) async throws -> AuditLog {
        var log = AuditLog.Parts(
            path: self.parts.auditLog,
            vault: self.parts.vault,
            clock: self.parts.clock,
            epoch: epoch,
            onNewest: self.parts.onNewest,
            onFatal: self.parts.onFatal
        )
        log.opensEpoch = true
        log.onWritten = self.parts.onWritten
        log.generation = { store.generation }
        if plan.logs.mustSetAside {
            let kept = RestoreLogs.place(of: self.parts.auditLog, beforeEpoch: epoch)
            try DurableFile.place(self.parts.auditLog, at: kept)
        }
        if !AuditLog.exists(at: self.parts.auditLog) { try await AuditLog.create(log) }
        return try await AuditLog.open(log)
    }

    /// Copies the pages and compares the digest of the copied bytes with the label, so that the bytes checked are the
    /// ones used.
    private func copyPages(_ label: BackupLabel, to path: String) async throws {
        var hash = SHA256()
        let source = try AppendFile(reading: self.parts.backup, followingLinks: true)
        let target = try RecordFile(opening: path)
        var offset = 0
        while offset < label.pagesByteCount {
            let bytes = try source.read(at: offset, atMost: min(1 << 20, label.pagesByteCount - offset))
            if bytes.isEmpty { break }
            try target.write(bytes, at: offset)
            hash.update(data: bytes)
            offset += bytes.count
        }
        try target.synchronize()
        // rule: server-backup-pages-not-compared
        guard Array(hash.finalize()) == label.digest else { throw RestoreFailure.damaged(self.parts.backup) }
    }
}

// Checks and changes the staged store.
extension Restoration {
    func change(_ store: SQLiteWalletStore, _ plan: Plan) async throws -> Report {
        let inspection = try await store.inspect()
        guard inspection.damage.isEmpty else {
            throw RestoreFailure.unsound(self.parts.backup, inspection.damage)
        }
        let epochs = try await store.epochs()
        guard EpochRecords.areGenuine(epochs, by: self.parts.vault), epochs.count + 1 == plan.backupEpoch,
            inspection.latestEpoch <= plan.backupEpoch
        else { throw RestoreFailure.epochs(self.parts.backup) }
        try self.parts.stage(.openingValues)
        guard try await store.recordKeyFits() else { throw RestoreFailure.foreign(self.parts.backup) }
        let damaged = try await self.damagedWallets(of: store)
        try self.parts.stage(.openingEpoch)
        let number = plan.latestEpoch + 1  // rule: server-restore-epoch-repeated
        let records = EpochRecords.next(
            number,
            self.parts.rule,
            at: self.parts.clock.now(),
            after: epochs,
            by: self.parts.vault
        )
        try await store.open(records)
        // The generation of the restored store must be later than any known to a log entry or a witness.
        let witnessed = self.parts.witnessed
        try await store.raiseGeneration(above: max(plan.logs.generation, witnessed.generation))
        _ = try await store.raiseWitnessStep(above: witnessed.step)
        try self.parts.stage(.replaying)
        var replayed = ReplayReport()
        for replay in plan.logs.replays {
            replayed = try await replay.carryOut(on: store, after: replayed)
        }
        return Report(
            epoch: number,
            wallets: inspection.wallets,
            replayed: replayed,
            damaged: try await self.end(damaged, in: store),
            takenAt: plan.takenAt,
            earlierRestores: plan.logs.earlierRestores,
            problem: plan.problem
        )
    }
}

// Opens every sealed value once, so that nothing is restored with the wrong key, and a damaged value is found now and
// not by the wallet's user.
extension Restoration {
    /// The number of wallets whose values are read by one step.
    private static let stepSize = 500

    /// Opens every sealed value, so that an outdated key file is discovered now rather than one wallet at a time.
    ///
    /// Removes the wallets that cannot be read, or throws if ``Parts/endsDamaged`` is false.
    ///
    /// - Returns: The wallets in use with a value that cannot be opened although its key is the right one, or with an
    ///   attempt record whose MAC does not match, and the wallets that cannot be read. Ended wallets are not included,
    ///   because they need none of their values.
    func damagedWallets(of store: SQLiteWalletStore) async throws -> [WalletID] {
        var (opened, unopened): (Set<UInt32>, [(wallet: WalletID, version: UInt32?)]) = ([], [])
        var unreadable: [WalletID] = []
        try await store.forEachStep(of: Self.stepSize) { wallets, others in
            unreadable += others
            for wallet in wallets {
                let (vault, values) = (self.parts.vault, wallet.values.byField)
                let keys = try await vault.keys(of: wallet.walletID, opening: values.map(\.sealed))
                for (field, sealed) in values {
                    let version = vault.keyVersion(of: sealed)
                    if vault.opens(sealed, as: field, with: keys) {
                        if let version { opened.insert(version) }
                    } else if !wallet.hasEnded {
                        unopened.append((wallet.walletID, version))
                    }
                }
            }
        }
        let noted = try await store.vaultVersions()
        var damaged = unreadable
        for (wallet, version) in unopened {
            if let version, !opened.contains(version), !self.isRightKey(version, by: noted) {
                throw RestoreFailure.sealed(wallet: wallet.description)
            }
            if damaged.last != wallet { damaged.append(wallet) }
        }
        let miscounted = try await self.walletsWithoutRecord(in: store)
        damaged += miscounted.filter { !damaged.contains($0) }
        guard self.parts.endsDamaged || unreadable.isEmpty else { throw RestoreFailure.damagedWallets(damaged) }
        // Whether they have ended cannot be read.
        for wallets in unreadable.pieces(of: endedAtOnce) {
            _ = try await store.revoke(wallets: wallets, at: self.parts.clock.now())
        }
        return damaged
    }

    /// Returns the wallets in use whose attempt record was not written for them by a server.
    private func walletsWithoutRecord(in store: SQLiteWalletStore) async throws -> [WalletID] {
        var (damaged, cursor): ([WalletID], UInt64?) = ([], nil)
        repeat {
            let check = try await store.damagedWallets(after: cursor, limit: Self.stepSize)
            damaged += check.wallets
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
                let detail = "damaged: a value cannot be read or opened, or the attempt record is not genuine"
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
