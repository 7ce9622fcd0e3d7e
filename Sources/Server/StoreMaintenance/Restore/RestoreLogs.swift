internal import AuditLog
internal import Foundation
internal import HostSystem
internal import Vault
internal import Vocabulary
internal import WalletStore

/// What the audit logs say of the time since a backup: the one at `audit.file`, and those that stand beside it because they
/// were damaged when an earlier restore came upon them.
///
/// Invariant: what a log says was ended since the backup ends again, however many restores there were in between. So a log
/// that was set aside is read as the one that took its place is.
struct RestoreLogs {
    /// What one of them is found to be.
    private struct Found {
        let path: String
        let verification: AuditVerification
        let replay: AuditReplay
        /// Why it does not have the entry that was the newest when the backup was made; nil where it has it.
        let isOther: AuditProblem?
        /// The epoch and the time of its first entry.
        let beginning: (epoch: Int, at: Timestamp)

        /// What was changed in it; the remains of a crash are nothing.
        var damage: AuditProblem? {
            if case .tornTail? = self.verification.problem { nil } else { self.verification.problem }
        }
    }

    /// The latest epoch of which any of them tells; 0 where there is none.
    let epoch: Int
    /// What has to be done again, log by log.
    let replays: [AuditReplay]
    /// Why they do not say all that happened since; nil where they do.
    let problem: LogProblem?
    /// Whether the log at `audit.file` is not gone on with.
    let mustSetAside: Bool

    /// Reads them all; changes nothing.
    init(_ parts: Restoration.Parts, since mark: AuditMark) async throws(RestoreFailure) {
        let path = parts.auditLog
        var logs: [Found] = []
        for aside in try Self.setAside(path) { logs.append(try await Self.look(at: aside, since: mark, parts)) }
        logs.sort { $0.beginning < $1.beginning }
        let current = AuditLog.exists(at: path) ? try await Self.look(at: path, since: mark, parts) : nil
        if let current { logs.append(current) }
        // What stands before the log with the backup's newest entry is in the backup. Other logs' numbers say nothing of
        // it: where none has the entry, all that any of them ends, ends.
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
        self.problem = problem
        self.mustSetAside = current?.damage != nil
    }

    /// Where a log that is not gone on with is kept by the restore of an epoch.
    static func place(of path: String, beforeEpoch epoch: Int) -> String { "\(path).before-epoch-\(epoch)" }

    private static func setAside(_ path: String) throws(RestoreFailure) -> [String] {
        let folder = (path as NSString).deletingLastPathComponent
        let name = (path as NSString).lastPathComponent + ".before-"
        guard DurableFile.isFolder(folder) else { return [] }
        do throws(FileError) {
            return try DurableFile.names(in: folder).filter { $0.hasPrefix(name) }.map { "\(folder)/\($0)" }
        } catch {
            throw .file(error)
        }
    }

    private static func look(
        at path: String,
        since mark: AuditMark,
        _ parts: Restoration.Parts
    ) async throws(RestoreFailure) -> Found {
        var (first, replay): (AuditRecord?, AuditReplay) = (nil, AuditReplay(after: mark))
        var verification = try await Self.verify(path, parts, last: mark) { entry in
            first = first ?? entry.record
            replay.take(entry)
        }
        var isOther: AuditProblem?
        if !verification.hasMark {
            isOther = .cut(newest: verification.newest?.number ?? 0, expected: mark.number)
            if case .replaced? = verification.problem { isOther = verification.problem }
            // From the first entry to the last: the look for the mark ends where another entry has its number.
            replay = AuditReplay(after: nil)
            verification = try await Self.verify(path, parts, last: nil) { replay.take($0) }
        }
        return Found(
            path: path,
            verification: verification,
            replay: replay,
            isOther: isOther,
            beginning: (first?.epoch ?? 0, first?.at ?? Timestamp(milliseconds: 0))
        )
    }

    private static func verify(
        _ path: String,
        _ parts: Restoration.Parts,
        last: AuditMark?,
        read: ((AuditEntry) -> Void)? = nil
    ) async throws(RestoreFailure) -> AuditVerification {
        do {
            return try await AuditReader(path, vault: parts.vault).verify(last: last, read: read)
        } catch let error as FileError {
            throw .file(error)
        } catch {
            throw .vault
        }
    }
}
