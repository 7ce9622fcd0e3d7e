internal import AuditLog
internal import Vocabulary
internal import WalletStore

/// The changes recorded in an audit log that restoring a backup must not undo: revocations and permanent blocks made
/// since the backup.
///
/// A wallet's end counts from its `begun` entry on, unless a `failed` entry refers to it, because its commit may have
/// been the last step before a crash. A reversal (the removal of a code from the deny list, or the restoration of the
/// solution) counts only if it has a `done` entry. When in doubt, a wallet stays ended.
struct AuditReplay {
    /// A change to repeat.
    ///
    /// Changes are repeated in log order.
    enum Step: Hashable {
        case end([WalletID], Revocation, at: Timestamp)
        /// Contains the wallets that were linked at that time, whether or not their links are in the backup.
        case deny(RecoveryCodeMAC, linked: [WalletID], at: Timestamp)
        case allow(RecoveryCodeMAC)
        case setSolutionRevoked(Bool)
        case block([WalletID])
    }

    /// The number of the newest entry when the backup was made, or 0 to replay every entry.
    private let mark: UInt64
    /// Changes with a `begun` entry up to the mark and no known outcome.
    ///
    /// They may have been committed after the copy.
    private var open: [UInt64: AuditRecord] = [:]
    /// The changes by entry number.
    ///
    /// This is the number of the `begun` entry or, for a reversal or a permanent block, of the `done` entry.
    private var steps: [UInt64: Step] = [:]
    /// The times of the changes in `steps` and `open`.
    private var times: [UInt64: Timestamp] = [:]
    /// The keys in `steps` of changes recorded as done.
    private var done: Set<UInt64> = []
    /// The details of restores that did not fail, by the number of their `begun` entries.
    private var restores: [UInt64: String] = [:]

    init(after mark: AuditMark?) {
        self.mark = mark?.number ?? 0
    }

    /// Processes the next log entry.
    mutating func read(_ entry: AuditEntry) {
        let record = entry.record
        // A log consists mostly of other entries, of which nothing is kept.
        if Self.isChange(record.event) { self.times[entry.number] = record.at }
        switch record.phase {
        case .begun:
            if record.event == .restore { self.restores[entry.number] = record.detail ?? "" }
            if entry.number <= self.mark {
                self.open[entry.number] = record
            } else {
                self.steps[entry.number] = Self.ending(record)
            }
        case .failed(let of?, _):
            self.restores[of] = nil
            self.open[of] = nil
            self.steps[of] = nil
        case .done(let of?, _):
            if entry.number <= self.mark {
                self.open[of] = nil
            } else if let step = Self.givingBack(record) {
                self.steps[entry.number] = step
                self.done.insert(entry.number)
                // Another server's revocation may have begun and been committed between the two entries.
                self.times[entry.number] = self.times[of] ?? record.at
            } else {
                self.done.insert(of)
                // The change may have begun before the mark. The `done` entry repeats its subject.
                self.open[of] = nil
                self.steps[of] = Self.ending(record)
            }
        case .unclear(let of, _):
            // The store had decided by then, so a copy completed later contains the change.
            if entry.number <= self.mark { self.open[of] = nil }
        case .done(nil, _):
            // The entry follows its commit, so a backup with a later mark contains the block.
            if entry.number > self.mark, record.event == .blockedPermanently {
                self.steps[entry.number] = .block(record.subject.wallets)
                self.done.insert(entry.number)
            }
        case .failed(nil, _):
            break
        }
    }

    /// Returns the changes to repeat, in order.
    func allSteps() -> [Step] { self.timedSteps().map(\.step) }

    /// Returns the changes to repeat, in order, with their times.
    func timedSteps() -> [(step: Step, at: Timestamp)] {
        var steps = self.steps
        for (number, record) in self.open where steps[number] == nil { steps[number] = Self.ending(record) }
        return steps.sorted { $0.key < $1.key }.map { ($0.value, self.times[$0.key] ?? Timestamp(milliseconds: 0)) }
    }

    /// Returns the changes recorded as done, in order.
    func doneSteps() -> [Step] {
        self.steps.filter { self.done.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func isChange(_ event: AuditEvent) -> Bool {
        switch event {
        case .deletionCode, .wipe, .revokeWallets, .deniedLink, .revokeRecoveryCode, .revokeSolution, .removeDenied,
            .restoreSolution, .blockedPermanently:
            true
        default: false
        }
    }

    /// Returns the number of restores whose details contain a backup name.
    func restores(of backup: String) -> Int { self.restores.values.count { $0.contains(backup) } }

    /// Returns the step that repeats a revocation, or nil for any other command.
    static func ending(_ record: AuditRecord) -> Step? { self.ending(record.event, record.subject, at: record.at) }

    /// Returns the step that repeats a revocation, or nil for any other event.
    static func ending(_ event: AuditEvent, _ subject: AuditSubject, at: Timestamp) -> Step? {
        let wallets = subject.wallets
        switch event {
        case .deletionCode: return .end(wallets, .byDeletionCode, at: at)
        case .wipe: return .end(wallets, .byWipe, at: at)
        case .revokeWallets: return .end(wallets, Revocation(reason: .wallet, mayRegisterAnew: true), at: at)
        case .deniedLink:
            return .end(wallets, Revocation(reason: .recoveryCode, mayRegisterAnew: false), at: at)
        case .revokeRecoveryCode:
            return subject.recoveryCode.map { .deny($0, linked: wallets, at: at) }
        case .revokeSolution: return .setSolutionRevoked(true)
        default: return nil
        }
    }

    private static func givingBack(_ record: AuditRecord) -> Step? {
        switch record.event {
        case .removeDenied: record.subject.recoveryCode.map { .allow($0) }
        case .restoreSolution: .setSolutionRevoked(false)
        default: nil
        }
    }
}

/// The result of a replay.
package struct ReplayReport: Hashable, Sendable {
    /// The number of wallets ended again that were in use in the backup.
    package var ended = 0
    /// The number of repeated denials.
    ///
    /// If a recovery code was denied several times, each denial counts.
    package var denied = 0
    /// The number of codes removed from the deny list.
    package var allowed = 0
    /// The number of wallets permanently blocked again.
    package var blocked = 0
    /// Whether the solution is revoked after the replay.
    package var isSolutionRevoked = false

    package init() {}
}

extension AuditReplay {
    /// Repeats the changes and adds them to the report on earlier logs.
    ///
    /// The commits that end wallets also destroy their shares.
    func carryOut(
        on store: SQLiteWalletStore,
        after earlier: ReplayReport
    ) async throws -> ReplayReport {
        var report = earlier
        for step in self.allSteps() { try await step.carryOut(on: store, &report) }
        report.isSolutionRevoked = try await store.isSolutionRevoked()
        return report
    }
}

extension AuditReplay.Step {
    /// Repeats the change.
    ///
    /// Has no effect if the store already contains it.
    func carryOut(on store: any ServedStore, _ report: inout ReplayReport) async throws {
        switch self {
        case .end(let wallets, let revocation, let at):
            report.ended += try await store.end(wallets, as: revocation, at: at)
        case .deny(let mac, let linked, let at):
            report.denied += 1
            report.ended += try await store.revoke(recoveryCode: mac, at: at).ended
            let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            report.ended += try await store.end(linked, as: revocation, at: at)
        case .allow(let mac):
            if try await store.removeDenied(mac) != nil { report.allowed += 1 }
        case .block(let wallets):
            report.blocked += try await store.blockPermanently(wallets)
        case .setSolutionRevoked(let isRevoked):
            _ = try await store.setSolutionRevoked(isRevoked)
        }
    }
}
