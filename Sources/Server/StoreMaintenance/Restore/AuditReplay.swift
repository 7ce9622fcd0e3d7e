internal import AuditLog
internal import Vocabulary
internal import WalletStore

/// What an audit log says happened since a backup that must not be undone by restoring it.
///
/// What ends something counts from its `begun` entry on, unless a `failed` entry names it: the commit may have been the last
/// thing before a crash. What gives something back (a code off the deny list, the solution restored) counts only where it is
/// `done`. In doubt a wallet ends rather than lives again.
struct AuditReplay {
    /// One thing to be done again, in the order of the log.
    enum Step: Hashable {
        case end([WalletID], Revocation, at: Timestamp)
        /// The wallets are those that were linked then, whether the backup has their link or not.
        case deny(RecoveryCodeMAC, linked: [WalletID], at: Timestamp)
        case allow(RecoveryCodeMAC)
        case setSolutionRevoked(Bool)
    }

    /// The newest entry when the backup was taken; nil replays everything.
    private let mark: UInt64
    /// Begun up to the mark, and not known to have ended: perhaps committed behind the backup's back.
    private var open: [UInt64: AuditRecord] = [:]
    /// By the entry that begins them.
    private var steps: [UInt64: Step] = [:]

    init(after mark: AuditMark?) {
        self.mark = mark?.number ?? 0
    }

    /// The log's next entry.
    mutating func take(_ entry: AuditEntry) {
        let record = entry.record
        switch record.phase {
        case .begun:
            if entry.number <= self.mark {
                self.open[entry.number] = record
            } else {
                self.steps[entry.number] = Self.ending(record)
            }
        case .failed(let of?, _):
            self.open[of] = nil
            self.steps[of] = nil
        case .done(let of?, _):
            if entry.number <= self.mark {
                self.open[of] = nil
            } else if let step = Self.givingBack(record) {
                self.steps[entry.number] = step
            } else {
                // Also where it was begun before the mark: what is done says again what it was done to.
                self.open[of] = nil
                self.steps[of] = Self.ending(record)
            }
        case .unclear(let of, _):
            // The store's decision had fallen, so a copy that was whole later has it.
            if entry.number <= self.mark { self.open[of] = nil }
        case .failed(nil, _), .done(nil, _):
            break
        }
    }

    /// All there is to do, in order.
    func all() -> [Step] {
        var steps = self.steps
        for (number, record) in self.open where steps[number] == nil { steps[number] = Self.ending(record) }
        return steps.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func ending(_ record: AuditRecord) -> Step? {
        let (wallets, at) = (record.subject.wallets, record.at)
        switch record.event {
        case .deletionCode, .wipe: return .end(wallets, .byUser, at: at)
        case .revokeWallets: return .end(wallets, Revocation(reason: .wallet, mayRegisterAnew: true), at: at)
        case .deniedLink:
            return .end(wallets, Revocation(reason: .recoveryCode, mayRegisterAnew: false), at: at)
        case .revokeRecoveryCode:
            return record.subject.recoveryCode.map { .deny($0, linked: wallets, at: at) }
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

/// What a replay did.
package struct ReplayReport: Hashable, Sendable {
    /// Wallets that the backup had in use, and that are ended again.
    package var ended = 0
    /// Recovery codes put on the deny list, each counted as often as it was.
    package var denied = 0
    /// Taken off it.
    package var allowed = 0
    /// Whether the solution is revoked at the end.
    package var isSolutionRevoked = false

    package init() {}
}

extension AuditReplay {
    /// Does it all, after what earlier logs had done again; shares are destroyed in the commits that end their wallets.
    func carryOut(
        on store: SQLiteWalletStore,
        after earlier: ReplayReport
    ) async throws(StoreError) -> ReplayReport {
        var report = earlier
        for step in self.all() {
            switch step {
            case .end(let wallets, let revocation, let at):
                report.ended += try await store.end(wallets, as: revocation, at: at).ended
            case .deny(let mac, let linked, let at):
                report.denied += 1
                report.ended += try await store.revoke(recoveryCode: mac, at: at).ended
                let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
                report.ended += try await store.end(linked, as: revocation, at: at).ended
            case .allow(let mac):
                if try await store.removeDenied(mac) != nil { report.allowed += 1 }
            case .setSolutionRevoked(let isRevoked):
                _ = try await store.setSolutionRevoked(isRevoked)
            }
        }
        report.isSolutionRevoked = try await store.isSolutionRevoked()
        return report
    }
}
