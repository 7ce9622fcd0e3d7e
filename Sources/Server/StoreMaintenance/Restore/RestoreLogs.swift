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
            } else if !hasEntry, let other = current.isOther {  // rule: server-torn-log-taken-for-whole
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

/// An audit log, read for the changes since a backup of the store.
struct ReadLog {
    let path: String
    let verification: AuditVerification
    let replay: AuditReplay
    /// The reason why the log lacks the entry that was the newest at the time of the backup, or nil if it contains that
    /// entry.
    let isOther: AuditProblem?
    /// The epoch and the time of the log's first entry.
    let beginning: (epoch: Int, at: Timestamp)
    let facts: Facts

    /// The information about a server and its store in the entries of a log.
    struct Facts {
        /// The highest generation of the store.
        var generation: UInt64 = 0
        /// The newest epoch, and the highest generation in it.
        var ofEpoch: (epoch: Int, generation: UInt64) = (0, 0)
        /// The name of the server, if it shares the store with others.
        var server: String?
        /// The names of all servers of the store that the log mentions.
        var servers: Set<String> = []
        /// Whether the last start was followed by a clean stop, so that no commit followed.
        var endsWithStop = true
        /// Whether the server has used the shared store.
        var hasServed = false

        mutating func read(_ record: AuditRecord) {
            let generation = record.generation ?? 0
            self.generation = max(self.generation, generation)
            // An entry about the opening of an epoch is not from a server that has served in it.
            if record.epoch > self.ofEpoch.epoch, record.event != .storeEpoch { self.ofEpoch = (record.epoch, 0) }
            self.ofEpoch.generation = max(self.ofEpoch.generation, generation)
            // The entries up to here have the generations of the embedded store.
            if record.event == .storeCopied { (self.ofEpoch.generation, self.hasServed) = (0, false) }
            self.server = record.server ?? self.server
            self.servers.formUnion(record.servers ?? [])
            if record.event == .started { (self.endsWithStop, self.hasServed) = (false, true) }
            if record.event == .stopped { self.endsWithStop = true }
        }
    }

    /// The damage to the log.
    ///
    /// An entry left incomplete by a crash does not count, except for the first one, which is created as a whole.
    var damage: AuditProblem? {
        if case .tornTail? = self.verification.problem, self.isReadable { nil } else { self.verification.problem }
    }

    /// Whether the log has an intact first entry.
    var isReadable: Bool { self.verification.newest != nil }

    /// Reads a log.
    ///
    /// - Parameter mark: The newest entry at the time of the backup, or nil if the backup contains no change from the
    ///   log.
    init(at path: String, since mark: AuditMark?, vault: any Vault) async throws {
        var (first, replay, facts): (AuditRecord?, AuditReplay, Facts) = (nil, AuditReplay(after: mark), Facts())
        let reader = try AuditReader(setAside: path, vault: vault)
        var verification = try await reader.verify(last: mark) { entry in
            first = first ?? entry.record
            facts.read(entry.record)
            replay.read(entry)
        }
        var isOther: AuditProblem?
        if let mark, !verification.hasMark {
            isOther = .cut(newest: verification.newest?.number ?? 0, expected: mark.number)
            if case .replaced? = verification.problem { isOther = verification.problem }
            // Read again from the first entry to the last, because the first reading stops if another entry has the
            // mark's number.
            replay = AuditReplay(after: nil)  // rule: restore-other-log-by-number
            verification = try await reader.verify { entry in
                facts.read(entry.record)
                replay.read(entry)
            }
        }
        self.path = path
        self.verification = verification
        self.replay = replay
        self.isOther = isOther
        self.beginning = (first?.epoch ?? 0, first?.at ?? Timestamp(milliseconds: 0))
        self.facts = facts
    }
}

extension [ReadLog] {
    /// The logs whose changes the store may lack, and whether one of them has the entry that the store names.
    ///
    /// The store includes the changes from all logs before the first one with that entry. The entry numbers in other
    /// logs are unrelated, so if no log has the entry, all are returned. Several logs have it if an older copy of a log
    /// replaced it: each of them may have changes that others lack. So may a log that cannot be read.
    ///
    /// - Precondition: the logs are sorted by their beginnings.
    var sinceNamedEntry: (logs: [ReadLog], hasEntry: Bool) {
        let first = self.firstIndex { $0.isOther == nil }
        return (self[..<(first ?? 0)].filter { !$0.isReadable } + self[(first ?? 0)...], first != nil)
    }
}
