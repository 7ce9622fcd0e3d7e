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
        await self.services.commandTurns.begin(lane)
        defer { self.services.commandTurns.end(lane) }
        return try await self.recorded(command, by: actor)
    }

    private func recorded(_ command: AdminCommand, by actor: AuditActor) async throws(AdminFailure) -> AdminResult {
        let (audit, event, detail) = (self.services.audit, command.auditEvent, command.auditDetail)
        var subject = try await self.subject(of: command)
        let turn = event == .revokeRecoveryCode ? subject.recoveryCode : nil
        if let turn {
            await self.services.recoveryCodeTurns.begin(turn)
            // No link comes in between any more. The wallets are named, so that they end again when a backup from before
            // their link is restored.
            do throws(AdminFailure) {
                subject.wallets = try await self.wallets(linkedTo: turn)
            } catch {
                self.services.recoveryCodeTurns.end(turn)
                throw error
            }
        }
        defer { if let turn { self.services.recoveryCodeTurns.end(turn) } }
        var begun: UInt64?
        if command.changesSomething {
            let named = subject
            begun = try await self.entered { () throws(AuditLogError) in
                try await audit.append(event, by: actor, on: named, .begun, detail: detail)
            }
        }
        let result: AdminResult
        do throws(AdminFailure) {
            result = try await self.result(of: command)
        } catch {
            await self.enter(error, of: event, begun: begun, by: actor, on: subject, detail: detail)
            throw error
        }
        let phase = AuditPhase.done(of: begun, result: command.startsSomething ? "begun" : result.auditText)
        if begun == nil {
            _ = try await self.entered { () throws(AuditLogError) in
                try await audit.append(event, by: actor, on: subject, phase, detail: detail)
            }
        } else {
            await audit.mustAppend(event, by: actor, on: subject, phase, detail: detail)
        }
        return result
    }

    /// A command that was refused; a store that did not answer may have done it all the same.
    private func enter(
        _ failure: AdminFailure,
        of event: AuditEvent,
        begun: UInt64?,
        by actor: AuditActor,
        on subject: AuditSubject,
        detail: String?
    ) async {
        if let begun, failure.kind == .unavailable || failure.kind == .internal {
            let phase = AuditPhase.unclear(of: begun, reason: failure.sentence)
            await self.services.audit.tryAppend(event, by: actor, on: subject, phase)
            return
        }
        do throws(AuditLogError) {
            let phase = AuditPhase.failed(of: begun, reason: failure.sentence)
            try await self.services.audit.append(event, by: actor, on: subject, phase, detail: detail)
        } catch {
            self.server.log.error("the audit log did not take a refusal", metadata: ["reason": "\(error)"])
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
