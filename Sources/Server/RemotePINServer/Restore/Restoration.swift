public import AuditLog
internal import Crypto
internal import HostSystem
public import PINPolicy
public import Vault
public import Vocabulary
internal import WalletStore

/// Makes a store of a backup, such that it hands out no fresh guesses and revives nothing that was revoked.
///
///     label, log ─▶ pages, digest ─▶ soundness, every sealed value ─▶ epoch ─▶ revocations ─▶ on record ─▶ in place
///
/// Invariants: the epoch is later than any that the backup or the audit log knows, so no row of the backup passes for one of
/// it, however often and in whatever order backups are restored. The store gets its place only when all of it is done and
/// the audit log has, durably, that it is about to; who is killed before has no store and begins anew.
public struct Restoration: Sendable {
    /// What a restore is made of.
    public struct Parts: Sendable {
        public var backup: String
        public var dataFolder: String
        public var auditLog: String
        public var vault: any Vault
        public var clock: any WallClock
        /// Who does it.
        public var actor: AuditActor
        public var rule: EpochRule
        /// What the log stream said of the audit log's newest entry; nil where nobody kept it.
        public var last: AuditMark?
        /// Told of each stage as it begins; what it throws ends the restore there, as if the process had been killed.
        public var stage: @Sendable (Stage) throws(RestoreFailure) -> Void
        public var onNewest: @Sendable (AuditMark) -> Void
        public var onFatal: @Sendable (String) -> Never

        public init(
            backup: String,
            dataFolder: String,
            auditLog: String,
            vault: any Vault,
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
    public enum Stage: Hashable, Sendable, CaseIterable {
        case copying, checking, openingValues, openingEpoch, replaying, recording, placing, finishing
    }

    /// What was looked at before anything is done.
    public struct Plan: Sendable {
        let label: BackupLabel
        let logEpoch: Int
        let replay: AuditReplay
        /// Why the log does not say all that happened since; nil where it does.
        public let problem: LogProblem?
        /// The moment whose state the backup holds.
        public var takenAt: Timestamp { self.label.takenAt }
        /// The epoch of the backup, and the latest that backup and log know.
        public var backupEpoch: Int { self.label.epoch }
        public var latestEpoch: Int { max(self.label.epoch, self.logEpoch) }
    }

    /// What was restored.
    public struct Report: Hashable, Sendable {
        public var epoch: Int
        public var wallets: Int
        public var replayed: ReplayReport
    }

    let parts: Parts

    public init(_ parts: Parts) {
        self.parts = parts
    }

    /// Reads the backup's label and the audit log; changes nothing.
    public func plan() async throws(RestoreFailure) -> Plan {
        let label = try await self.label()
        guard AuditLog.exists(at: self.parts.auditLog) else {
            return Plan(
                label: label,
                logEpoch: 0,
                replay: AuditReplay(after: nil),
                problem: .missing(self.parts.auditLog)
            )
        }
        var (found, replay) = try await self.look(last: label.audit, after: label.audit)
        // Another log's numbers say nothing of the backup: all that this one ends, ends.
        if !found.hasMark { (found, replay) = try await self.look(last: label.audit, after: nil) }
        var problem = self.problem(of: found, last: label.audit)
        if problem == nil, let last = self.parts.last {
            problem = self.problem(of: try await self.look(last: last, after: nil).0, last: last)
        }
        return Plan(label: label, logEpoch: found.newestEpoch ?? 0, replay: replay, problem: problem)
    }

    /// What a log lacks; the remains of a crash are nothing, unless they stand where an entry should.
    private func problem(of found: AuditVerification, last: AuditMark) -> LogProblem? {
        let cut = AuditProblem.cut(newest: found.newest?.number ?? 0, expected: last.number)
        switch found.problem {
        case nil: return nil
        case .tornTail: return found.hasMark ? nil : .otherLog(self.parts.auditLog, cut)
        case .cut, .replaced: return .otherLog(self.parts.auditLog, found.problem ?? cut)
        case let problem?: return .damaged(self.parts.auditLog, problem)
        }
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

    private func look(
        last: AuditMark,
        after mark: AuditMark?
    ) async throws(RestoreFailure) -> (AuditVerification, AuditReplay) {
        var replay = AuditReplay(after: mark)
        do {
            let reader = try AuditReader(self.parts.auditLog, vault: self.parts.vault)
            let found = try await reader.verify(last: last) { replay.take($0) }
            return (found, replay)
        } catch let error as FileError {
            throw .file(error)
        } catch {
            throw .vault
        }
    }
}

extension Restoration {
    /// Restores, whatever ``Plan/problem`` is: that it is known to the operator is the caller's concern.
    ///
    /// A log that is not as it was written is not gone on with: it is kept beside the new one.
    public func run(_ plan: Plan) async throws(RestoreFailure) -> Report {
        let staged: StagedStore
        do throws(StoreOpenError) {
            staged = try StagedStore(folder: self.parts.dataFolder)
        } catch {
            throw .store(error)
        }
        do throws(RestoreFailure) {
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
        let begun: UInt64
        do throws(AuditLogError) {
            begun = try await audit.append(.restore, by: self.parts.actor, .begun, detail: detail).number
        } catch {
            throw .audit(error)
        }
        try self.parts.stage(.placing)
        do throws(StoreOpenError) {
            try staged.place()
        } catch {
            await audit.tryAppend(.restore, by: self.parts.actor, .failed(of: begun, reason: "\(error)"))
            throw .store(error)
        }
        try self.parts.stage(.finishing)
        let replayed = report.replayed
        let result =
            "\(report.wallets) wallets, \(replayed.ended) ended again, \(replayed.denied) codes denied again"
            + (plan.problem == nil ? "" : "; without a whole audit log")
        do throws(AuditLogError) {
            try await audit.append(.restore, by: self.parts.actor, .done(of: begun, result: result), detail: detail)
        } catch {
            throw .placed(error)
        }
    }

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
        if case .damaged = plan.problem {
            let kept = "\(self.parts.auditLog).before-epoch-\(epoch)"
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
