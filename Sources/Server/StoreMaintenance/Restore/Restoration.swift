package import AuditLog
internal import Crypto
internal import HostSystem
package import PINPolicy
package import Vault
package import Vocabulary
internal import WalletStore

/// Makes a store of a backup, such that it hands out no fresh guesses and revives nothing that was revoked.
///
///     label, log ─▶ pages, digest ─▶ soundness, every sealed value ─▶ epoch ─▶ revocations ─▶ on record ─▶ in place
///
/// Invariants: the epoch is later than any that the backup or the audit log knows, so no row of the backup passes for one of
/// it, however often and in whatever order backups are restored. The store gets its place only when all of it is done and
/// the audit log has, durably, that it is about to; who is killed before has no store and begins anew.
package struct Restoration: Sendable {
    /// What a restore is made of.
    package struct Parts: Sendable {
        package var backup: String
        package var dataFolder: String
        package var auditLog: String
        package var vault: any RotatingVault
        package var clock: any WallClock
        /// Who does it.
        package var actor: AuditActor
        package var rule: EpochRule
        /// What the log stream said of the audit log's newest entry; nil where nobody kept it.
        package var last: AuditMark?
        /// Whether wallets are ended for which something is sealed that does not open; they keep all from being restored
        /// otherwise.
        package var endsDamaged = false
        /// Told of each stage as it begins; what it throws ends the restore there, as if the process had been killed.
        package var stage: @Sendable (Stage) throws(RestoreFailure) -> Void
        package var onNewest: @Sendable (AuditMark) -> Void
        package var onFatal: @Sendable (String) -> Never

        package init(
            backup: String,
            dataFolder: String,
            auditLog: String,
            vault: any RotatingVault,
            clock: any WallClock,
            actor: AuditActor,
            rule: EpochRule = .strict,
            last: AuditMark? = nil,
            stage: @escaping @Sendable (Stage) throws(RestoreFailure) -> Void = { (_: Stage) throws(RestoreFailure) in
            },
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

    /// Where a restore is; in this order.
    package enum Stage: Hashable, Sendable, CaseIterable {
        case copying, checking, openingValues, openingEpoch, replaying, recording, placing, finishing
    }

    /// What was looked at before anything is done.
    package struct Plan: Sendable {
        let label: BackupLabel
        let logs: RestoreLogs
        /// Why the logs do not say all that happened since; nil where they do.
        package var problem: LogProblem? { self.logs.problem }
        /// The moment whose state the backup holds.
        package var takenAt: Timestamp { self.label.takenAt }
        /// The epoch of the backup, and the latest that backup and logs know.
        package var backupEpoch: Int { self.label.epoch }
        package var latestEpoch: Int { max(self.label.epoch, self.logs.epoch) }
    }

    /// What was restored.
    package struct Report: Hashable, Sendable {
        package var epoch: Int
        package var wallets: Int
        package var replayed: ReplayReport
        /// The wallets that were ended because something that is sealed for them does not open.
        package var damaged: [WalletID]
        /// The moment whose state the backup held.
        package var takenAt: Timestamp
        /// Why the logs did not say all that happened since; nil where they did.
        package var problem: LogProblem?
    }

    let parts: Parts

    package init(_ parts: Parts) {
        self.parts = parts
    }

    /// Reads the backup's label and the audit logs; changes nothing.
    package func plan() async throws(RestoreFailure) -> Plan {
        let label = try await self.label()
        return Plan(label: label, logs: try await RestoreLogs(self.parts, since: label.audit))
    }

    private func label() async throws(RestoreFailure) -> BackupLabel {
        let path = self.parts.backup
        do {
            let file = try AppendFile(reading: path)
            let length = try file.byteCount()
            guard length > BackupLabel.byteCount else { throw BackupLabel.Problem.none }
            let start = length - BackupLabel.byteCount
            let bytes = try file.read(at: start, atMost: BackupLabel.byteCount)
            let label = try await BackupLabel.read(bytes, by: self.parts.vault)
            guard label.pagesByteCount == start else { throw BackupLabel.Problem.foreign }
            return label
        } catch BackupLabel.Problem.none {
            throw .notABackup(path)
        } catch BackupLabel.Problem.foreign {
            throw .foreign(path)
        } catch let error as FileError {
            throw .file(error)
        } catch {
            throw .vault
        }
    }
}

extension Restoration {
    /// Restores, where `confirm` does not throw: with a ``Plan/problem`` an operator has to know what is lost.
    ///
    /// The folder is taken before anything is read, so that what was planned is what is done: nobody else can restore, or
    /// serve and revoke, in between. A log that is not as it was written is not gone on with: it is kept beside the new one.
    package func run(_ confirm: (Plan) throws -> Void = { _ in }) async throws -> Report {
        let staged: StagedStore
        do throws(StoreOpenError) {
            staged = try StagedStore(folder: self.parts.dataFolder)
        } catch {
            throw RestoreFailure.store(error)
        }
        do {
            let plan = try await self.plan()
            try confirm(plan)
            return try await self.run(plan, in: staged)
        } catch {
            staged.abandon()
            throw error
        }
    }

    private func run(_ plan: Plan, in staged: StagedStore) async throws(RestoreFailure) -> Report {
        try self.parts.stage(.copying)
        try await self.copyPages(plan.label, to: staged.file)
        try self.parts.stage(.checking)
        let store: SQLiteWalletStore
        do throws(StoreOpenError) { store = try staged.open(onFatal: self.parts.onFatal) } catch { throw .store(error) }
        var report: Report
        do throws(RestoreFailure) {
            report = try await self.change(store, plan)
        } catch {
            await store.close()
            throw error
        }
        await store.close()
        try self.parts.stage(.recording)
        let audit = try await self.openAudit(plan, epoch: report.epoch)
        do throws(RestoreFailure) {
            try await self.place(staged, audit, plan, &report)
        } catch {
            await audit.close()
            throw error
        }
        await audit.close()
        return report
    }

    /// Between the two entries that tell of it.
    private func place(
        _ staged: StagedStore,
        _ audit: AuditLog,
        _ plan: Plan,
        _ report: inout Report
    ) async throws(RestoreFailure) {
        let detail = "epoch \(report.epoch), \(self.parts.rule.rawValue), backup of \(plan.takenAt.milliseconds)"
        let ends = try await self.beginEnds(of: report.damaged, in: audit)
        let begun: UInt64
        do throws(AuditLogError) {
            begun = try await audit.append(.restore, by: self.parts.actor, .begun, detail: detail).number
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            throw .audit(error)
        }
        try self.parts.stage(.placing)
        do throws(StoreOpenError) {
            try staged.place()
        } catch {
            await self.undo(ends, in: audit, for: "\(error)")
            await audit.tryAppend(.restore, by: self.parts.actor, .failed(of: begun, reason: "\(error)"))
            throw .store(error)
        }
        try self.parts.stage(.finishing)
        let replayed = report.replayed
        let result =
            "\(Self.wallets(report.wallets)), \(replayed.ended) ended again, \(replayed.denied) codes denied again"
            + (report.damaged.isEmpty ? "" : ", \(report.damaged.count) damaged ones ended")
            + (plan.problem == nil ? "" : "; without a whole audit log")
        do throws(AuditLogError) {
            for end in ends {
                let phase = AuditPhase.done(of: end.begun, result: "\(end.subject.wallets.count) revoked")
                try await audit.append(.revokeWallets, by: self.parts.actor, on: end.subject, phase)
            }
            try await audit.append(.restore, by: self.parts.actor, .done(of: begun, result: result), detail: detail)
        } catch {
            throw .placed(error)
        }
    }

    /// So many wallets, in words.
    package static func wallets(_ count: Int) -> String { count == 1 ? "1 wallet" : "\(count) wallets" }

    private func openAudit(_ plan: Plan, epoch: Int) async throws(RestoreFailure) -> AuditLog {
        var log = AuditLog.Parts(
            path: self.parts.auditLog,
            vault: self.parts.vault,
            clock: self.parts.clock,
            epoch: epoch,
            onNewest: self.parts.onNewest,
            onFatal: self.parts.onFatal
        )
        log.opensEpoch = true
        if plan.logs.mustSetAside {
            let kept = RestoreLogs.place(of: self.parts.auditLog, beforeEpoch: epoch)
            do throws(FileError) { try DurableFile.place(self.parts.auditLog, at: kept) } catch { throw .file(error) }
        }
        do throws(AuditLogError) {
            if !AuditLog.exists(at: self.parts.auditLog) { try await AuditLog.create(log) }
            return try await AuditLog.open(log)
        } catch {
            throw .audit(error)
        }
    }

    /// Copies the pages and compares what was copied with the label: what is checked is what is used.
    private func copyPages(_ label: BackupLabel, to path: String) async throws(RestoreFailure) {
        var hash = SHA256()
        do throws(FileError) {
            let source = try AppendFile(reading: self.parts.backup)
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
        } catch {
            throw .file(error)
        }
        guard Array(hash.finalize()) == label.digest else { throw .damaged(self.parts.backup) }
    }
}
