internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Vocabulary
internal import WalletStore

/// The audit logs since a backup: the one at `audit.file`, and the damaged ones next to it that earlier restores set
/// aside.
///
/// Invariant: every end recorded in a log since the backup is repeated, no matter how many restores took place in
/// between. A log that was set aside is therefore read in the same way as the one that replaced it.
package struct RestoreLogs {
    /// The latest epoch in any of the logs, or 0 if there are none.
    let epoch: Int
    /// The changes to repeat, one element per log.
    let replays: [AuditReplay]
    /// The reason the logs do not cover all changes since the backup, or nil if they do.
    let problem: LogProblem?
    /// The highest store generation in any of the logs and in the mark beside them, or 0 if there are none.
    let generation: UInt64
    /// The number of earlier restores of this backup, across all logs.
    let earlierRestores: Int
    /// Whether the log at `audit.file` must be set aside and replaced with a new one.
    let mustSetAside: Bool

    /// Reads all logs without changing anything.
    init(_ parts: Restoration.Parts, of label: BackupLabel) async throws {
        let mark = label.audit
        let path = parts.auditLog
        var logs: [ReadLog] = []
        for aside in try Self.setAside(path) {
            let log = try await ReadLog(at: aside, since: mark, vault: parts.vault)
            // A backup from after the restore that set a log aside has its changes, as far as they can be known.
            if !log.isReadable, let epoch = Self.epoch(after: aside), epoch <= label.epoch { continue }
            logs.append(log)
        }
        logs.sort { $0.beginning < $1.beginning }
        let isPresent = AuditLog.exists(at: path)
        let current = isPresent ? try await ReadLog(at: path, since: mark, vault: parts.vault) : nil
        if let current { logs.append(current) }
        let (relevant, hasEntry) = logs.sinceNamedEntry
        var problem: LogProblem?
        if let current {
            if let damaged = relevant.first(where: { $0.damage != nil }), let damage = damaged.damage {
                problem = .damaged(damaged.path, damage)
            } else if !hasEntry, let other = current.isOther {
                problem = .otherLog(path, other)
            }
        } else {
            problem = .missing(path)
        }
        if problem == nil, let last = parts.last {
            var other: AuditProblem? = .cut(newest: current?.verification.newest?.number ?? 0, expected: last.number)
            for log in relevant where other != nil {
                let found = try await AuditReader(setAside: log.path, vault: parts.vault).verify(last: last)
                other = found.hasMark ? nil : found.problem ?? other
            }
            problem = other.map { .otherLog(path, $0) }
        }
        self.epoch = logs.compactMap(\.verification.newestEpoch).max() ?? 0
        self.replays = relevant.map(\.replay)
        let marked = try MarkCopy.generation(besideAuditLog: path) ?? 0
        self.generation = logs.map(\.facts.generation).reduce(marked, max)
        self.earlierRestores = logs.map { $0.replay.restores(of: label.name) }.reduce(0, +)
        self.problem = problem
        self.mustSetAside = current?.damage != nil
    }

    /// Returns the path that a damaged log is moved to by the restore that opens an epoch.
    package static func place(of path: String, beforeEpoch epoch: Int) -> String { "\(path).before-epoch-\(epoch)" }

    /// Returns the epoch that the restore opened which set a log aside, or nil if an operator did.
    private static func epoch(after aside: String) -> Int? {
        let word = (aside as NSString).pathExtension
        let prefix = "before-epoch-"
        return word.hasPrefix(prefix) ? Int(word.dropFirst(prefix.count)) : nil
    }

    /// Returns the logs next to this one that were set aside.
    static func setAside(_ path: String) throws -> [String] {
        let folder = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent + ".before-"
        guard DurableFile.isFolder(folder) else { return [] }
        return try DurableFile.names(in: folder).filter { $0.hasPrefix(name) }.map { "\(folder)/\($0)" }
    }
}
