internal import AuditLog
internal import HostSystem
internal import Logging
internal import Vocabulary
internal import Wire

// How commands are on record.
extension AdminCommands {
    /// Does a command between the entries that tell of it.
    ///
    ///     changing:  begun, durable ─▶ done ─▶ its entry, durable ─▶ answer
    ///     reading:                     done ─▶ its entry, durable ─▶ answer
    ///
    /// Commands on the same things have their turns one after the other, from the first entry to the last: a denial and
    /// what takes it back stand in the log in the order in which they were committed, so that a replay ends as they did.
    func onRecord(_ command: AdminCommand, by actor: AuditActor) async throws(AdminFailure) -> AdminResult {
        guard let lane = command.lane else { return try await self.recorded(command, by: actor) }
        await self.server.commandLocks.acquire(lane)
        defer { self.server.commandLocks.release(lane) }
        return try await self.recorded(command, by: actor)
    }

    private func recorded(_ command: AdminCommand, by actor: AuditActor) async throws(AdminFailure) -> AdminResult {
        let event = command.auditEvent
        var subject = try await self.subject(of: command)
        let turn = event == .revokeRecoveryCode ? subject.recoveryCode : nil
        if let turn {
            await self.services.revocations.recoveryCodeLocks.acquire(turn)
            // No link comes in between any more. The wallets are named, so that they end again when a backup from before
            // their link is restored.
            do throws(AdminFailure) {
                subject.wallets = try await self.wallets(linkedTo: turn)
            } catch {
                self.services.revocations.recoveryCodeLocks.release(turn)
                throw error
            }
        }
        defer { if let turn { self.services.revocations.recoveryCodeLocks.release(turn) } }
        var entries = CommandEntries(event, by: actor, on: subject, detail: command.auditDetail)
        if command.changesSomething { try await self.begin(&entries) }
        let result: AdminResult
        do throws(AdminFailure) {
            result = try await self.result(of: command)
        } catch {
            await self.enter(error, entries)
            throw error
        }
        try await self.enterDone(command.startsSomething ? "begun" : result.auditText, entries)
        return result
    }

    private func begin(_ entries: inout CommandEntries) async throws(AdminFailure) {
        let (audit, event, actor, detail) = (
            self.services.revocations.audit, entries.event, entries.actor, entries.detail
        )
        for subject in entries.subjects {
            do throws(AdminFailure) {
                let number = try await self.entered { () throws(AuditLogError) in
                    try await audit.append(event, by: actor, on: subject, .begun, detail: detail)
                }
                entries.begun.append(number)
            } catch {
                // Those before it were begun, and nothing was done.
                if !entries.begun.isEmpty { await self.enter(error, entries, isUndone: true) }
                throw error
            }
        }
    }

    private func enterDone(_ result: String, _ entries: CommandEntries) async throws(AdminFailure) {
        let audit = self.services.revocations.audit
        guard entries.begun.isEmpty else {
            for (begun, subject) in zip(entries.begun, entries.subjects) {
                let phase = AuditPhase.done(of: begun, result: result)
                await audit.mustAppend(entries.event, by: entries.actor, on: subject, phase, detail: entries.detail)
            }
            return
        }
        for subject in entries.subjects {
            _ = try await self.entered { () throws(AuditLogError) in
                let phase = AuditPhase.done(of: nil, result: result)
                return try await audit.append(
                    entries.event,
                    by: entries.actor,
                    on: subject,
                    phase,
                    detail: entries.detail
                )
            }
        }
    }

    /// A command that was refused; a store that did not answer may have done it all the same.
    private func enter(_ failure: AdminFailure, _ entries: CommandEntries, isUndone: Bool = false) async {
        let (audit, reason) = (self.services.revocations.audit, failure.sentence)
        let begun: [UInt64?] = entries.begun.isEmpty ? [nil] : entries.begun
        for (begun, subject) in zip(begun, entries.subjects) {
            if let begun, !isUndone, failure.kind == .unavailable || failure.kind == .internal {
                let phase = AuditPhase.unclear(of: begun, reason: reason)
                await audit.tryAppend(entries.event, by: entries.actor, on: subject, phase)
                continue
            }
            do throws(AuditLogError) {
                let phase = AuditPhase.failed(of: begun, reason: reason)
                try await audit.append(entries.event, by: entries.actor, on: subject, phase, detail: entries.detail)
            } catch {
                self.server.log.error("the audit log did not take a refusal", metadata: ["reason": "\(error)"])
            }
        }
    }

    private func entered(
        _ append: () async throws(AuditLogError) -> AuditMark
    ) async throws(AdminFailure) -> UInt64 {
        do throws(AuditLogError) {
            return try await append().number
        } catch {
            self.server.log.error("the audit log takes no entries", metadata: ["reason": "\(error)"])
            throw AdminFailure(.unavailable, "The audit log does not take it, so nothing was done: \(error).")
        }
    }

    private func subject(of command: AdminCommand) async throws(AdminFailure) -> AuditSubject {
        switch command {
        case .showWallet(let wallet): AuditSubject(wallets: [wallet])
        case .revokeWallets(let wallets): AuditSubject(wallets: wallets)
        case .revokeRecoveryCode(let code): AuditSubject(recoveryCode: try await self.mac(of: code))
        case .showDenied(let name), .removeDenied(let name): AuditSubject(recoveryCode: try await self.mac(of: name))
        default: AuditSubject()
        }
    }
}

/// What is written of a command: one entry of each phase, or more of them where it is about more wallets than one names.
private struct CommandEntries {
    let event: AuditEvent
    let actor: AuditActor
    let detail: String?
    /// One for each entry of a phase.
    let subjects: [AuditSubject]
    /// The numbers of those that were begun.
    var begun: [UInt64] = []

    init(_ event: AuditEvent, by actor: AuditActor, on subject: AuditSubject, detail: String?) {
        self.event = event
        self.actor = actor
        self.detail = detail
        self.subjects = subject.inParts
    }
}

extension AdminCommand {
    /// What logs call it.
    var auditEvent: AuditEvent {
        switch self {
        case .advanceClock: .advanceClock
        case .showWallet: .showWallet
        case .revokeWallets: .revokeWallets
        case .revokeRecoveryCode: .revokeRecoveryCode
        case .revokeSolution: .revokeSolution
        case .restoreSolution: .restoreSolution
        case .listDenied: .listDenied
        case .showDenied: .showDenied
        case .removeDenied: .removeDenied
        case .listFlags: .listFlags
        case .setFlag: .setFlag
        case .showUpdatePolicy: .showUpdatePolicy
        case .setUpdatePolicy: .setUpdatePolicy
        case .clearUpdatePolicy: .clearUpdatePolicy
        case .showStatus: .showStatus
        case .listWallets: .listWallets
        case .listSessions: .listSessions
        case .reload: .reload
        case .setLogLevel: .setLogLevel
        case .startBackup: .backup
        case .rotateVault: .rotateVault
        case .retireVault: .retireVault
        case .showUpkeep: .showUpkeep
        case .showVaultKeys: .showVaultKeys
        case .unknown: .unknown
        }
    }

    /// Commands that must not overlap.
    enum Lane: Hashable {
        /// What the store keeps for operators.
        case store
        /// The vault's keys; apart, because a look at every wallet takes its time and no revocation waits for it.
        case vaultKeys
    }

    /// In which it has its turn; nil where nothing is replayed and the last word need not be the log's.
    var lane: Lane? {
        switch self {
        case .revokeWallets, .revokeRecoveryCode, .revokeSolution, .restoreSolution, .removeDenied, .setFlag,
            .setUpdatePolicy, .clearUpdatePolicy:
            .store
        case .rotateVault, .retireVault: .vaultKeys
        case .advanceClock, .showWallet, .listDenied, .showDenied, .listFlags, .showUpdatePolicy, .showStatus,
            .listWallets, .listSessions, .reload, .setLogLevel, .startBackup, .showUpkeep, .showVaultKeys, .unknown:
            nil
        }
    }

    /// Whether something is another way afterwards; then it is on record before it is begun.
    fileprivate var changesSomething: Bool {
        switch self {
        case .advanceClock, .revokeWallets, .revokeRecoveryCode, .revokeSolution, .restoreSolution, .removeDenied,
            .setFlag, .setUpdatePolicy, .clearUpdatePolicy, .reload, .setLogLevel(_?), .startBackup, .rotateVault,
            .retireVault:
            true
        case .showWallet, .listDenied, .showDenied, .listFlags, .showUpdatePolicy, .showStatus, .listWallets,
            .listSessions, .setLogLevel(nil), .showUpkeep, .showVaultKeys, .unknown:
            false
        }
    }

    /// Whether it is answered before all of it is done; what comes of it is an entry of its own.
    fileprivate var startsSomething: Bool {
        switch self {
        case .startBackup, .rotateVault: true
        default: false
        }
    }

    /// What it says beside its subject.
    fileprivate var auditDetail: String? {
        switch self {
        case .advanceClock(let duration): "\(duration.milliseconds) ms"
        case .setFlag(let flag, let rollout): "\(flag.rawValue) \(rollout.text)"
        case .setUpdatePolicy(let platforms, let rules): "\(Self.names(platforms)) \(UpdateRule.text(of: rules))"
        case .clearUpdatePolicy(let platforms): Self.names(platforms)
        case .setLogLevel(let level): level?.rawValue
        case .startBackup(let path): path
        default: nil
        }
    }

    private static func names(_ platforms: Set<Platform>) -> String {
        Platform.allCases.filter(platforms.contains).map(\.rawValue).joined(separator: " ")
    }
}

extension AdminResult {
    /// What came of it, where the command does not say that already.
    fileprivate var auditText: String {
        switch self {
        case .walletsRevoked(let now, let before): "\(now) revoked, \(before) before"
        case .recoveryCodeRevoked(let done):
            "\(done.revoked) revoked" + (done.wasDenied ? ", was on the list" : "")
        case .solution(_, let changed): changed ? "" : "as before"
        case .denied(let report): report.deniedAt == nil ? "not on the list" : "on the list"
        case .reloaded(let parts):
            parts.filter { $0.problem != nil }.map { "the old \($0.name) stays" }.joined(separator: ", ")
        case .logLevel(let level, _): level.rawValue
        case .vaultKeys(let versions): "left: \(versions.map { "\($0.version)" }.joined(separator: ", "))"
        default: ""
        }
    }
}
