internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Vault
internal import Vocabulary
internal import WalletStore

/// The audit logs since a backup: the one at `audit.file`, and the damaged ones next to it that earlier restores set
/// aside.
///
/// Invariant: every end recorded in a log since the backup is repeated, no matter how many restores took place in
/// between. A log that was set aside is therefore read in the same way as the one that replaced it.
struct RestoreLogs {
    /// The result of reading one log.
    private struct Found {
        let path: String
        let verification: AuditVerification
        let replay: AuditReplay
        /// The reason the log lacks the entry that was newest at the time of the backup, or nil if it contains that
        /// entry.
        let isOther: AuditProblem?
        /// The epoch and time of the first log entry.
        let beginning: (epoch: Int, at: Timestamp)
        /// The highest store generation in the log.
        let generation: UInt64
        /// The time of the first entry written by a server that adds MACs to attempt records.
        let recordMACsSince: Timestamp?

        /// The damage to the log.
        ///
        /// An entry left incomplete by a crash does not count.
        var damage: AuditProblem? {
            if case .tornTail? = self.verification.problem { nil } else { self.verification.problem }
        }
    }

    /// The latest epoch in any of the logs, or 0 if there are none.
    let epoch: Int
    /// The changes to repeat, one element per log.
    let replays: [AuditReplay]
    /// The reason the logs do not cover all changes since the backup, or nil if they do.
    let problem: LogProblem?
    /// The highest store generation in any of the logs, or 0 if there are none.
    let generation: UInt64
    /// The time since which attempt records have had MACs, or nil if no log shows it.
    let recordMACsSince: Timestamp?
    /// The number of earlier restores of this backup, across all logs.
    let earlierRestores: Int
    /// Whether the log at `audit.file` must be set aside and replaced with a new one.
    let mustSetAside: Bool

    /// Reads all logs without changing anything.
    init(_ parts: Restoration.Parts, of label: BackupLabel) async throws {
        let mark = label.audit
        let path = parts.auditLog
        var logs: [Found] = []
        for aside in try Self.setAside(path) { logs.append(try await Self.read(at: aside, since: mark, parts)) }
        logs.sort { $0.beginning < $1.beginning }
        let current = AuditLog.exists(at: path) ? try await Self.read(at: path, since: mark, parts) : nil
        if let current { logs.append(current) }
        // The backup includes the changes from all logs before the one that contains its newest entry. The entry
        // numbers in other logs are unrelated, so if no log contains the entry, every end in any of them is repeated.
        let since = logs.lastIndex { $0.isOther == nil }
        let relevant = logs[(since ?? 0)...]
        var problem: LogProblem?
        if let current {
            if let damaged = relevant.first(where: { $0.damage != nil }), let damage = damaged.damage {
                problem = .damaged(damaged.path, damage)
            } else if since == nil, let other = current.isOther {
                problem = .otherLog(path, other)
            }
        } else {
            problem = .missing(path)
        }
        if problem == nil, let last = parts.last {
            var other: AuditProblem? = .cut(newest: current?.verification.newest?.number ?? 0, expected: last.number)
            for log in relevant where other != nil {
                let found = try await Self.verify(log.path, parts, last: last)
                other = found.hasMark ? nil : found.problem ?? other
            }
            problem = other.map { .otherLog(path, $0) }
        }
        self.epoch = logs.compactMap(\.verification.newestEpoch).max() ?? 0
        self.replays = relevant.map(\.replay)
        self.generation = logs.map(\.generation).max() ?? 0
        self.recordMACsSince = logs.compactMap(\.recordMACsSince).min()
        self.earlierRestores = logs.map { $0.replay.restores(of: label.name) }.reduce(0, +)
        self.problem = problem
        self.mustSetAside = current?.damage != nil
    }

    /// Returns the path that a damaged log is moved to by the restore that opens an epoch.
    static func place(of path: String, beforeEpoch epoch: Int) -> String { "\(path).before-epoch-\(epoch)" }

    private static func setAside(_ path: String) throws -> [String] {
        let folder = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent + ".before-"
        guard DurableFile.isFolder(folder) else { return [] }
        return try DurableFile.names(in: folder).filter { $0.hasPrefix(name) }.map { "\(folder)/\($0)" }
    }

    private static func read(
        at path: String,
        since mark: AuditMark,
        _ parts: Restoration.Parts
    ) async throws -> Found {
        var (first, replay): (AuditRecord?, AuditReplay) = (nil, AuditReplay(after: mark))
        var (generation, recordMACsSince): (UInt64, Timestamp?) = (0, nil)
        func read(_ entry: AuditEntry) {
            generation = max(generation, entry.record.generation ?? 0)
            if entry.record.event.showsRecordMACs { recordMACsSince = recordMACsSince ?? entry.record.at }
            replay.read(entry)
        }
        var verification = try await Self.verify(path, parts, last: mark) { entry in
            first = first ?? entry.record
            read(entry)
        }
        var isOther: AuditProblem?
        if !verification.hasMark {
            isOther = .cut(newest: verification.newest?.number ?? 0, expected: mark.number)
            if case .replaced? = verification.problem { isOther = verification.problem }
            // Read the log again from start to end, because the first pass stops if a different entry has the mark's
            // number.
            replay = AuditReplay(after: nil)
            verification = try await Self.verify(path, parts, last: nil) { read($0) }
        }
        return Found(
            path: path,
            verification: verification,
            replay: replay,
            isOther: isOther,
            beginning: (first?.epoch ?? 0, first?.at ?? Timestamp(milliseconds: 0)),
            generation: generation,
            recordMACsSince: recordMACsSince
        )
    }

    private static func verify(
        _ path: String,
        _ parts: Restoration.Parts,
        last: AuditMark?,
        read: ((AuditEntry) -> Void)? = nil
    ) async throws -> AuditVerification {
        try await AuditReader(path, vault: parts.vault).verify(last: last, read: read)
    }
}
