internal import AuditLog
internal import Dispatch
internal import HostSystem
internal import Logging
package import StoreMaintenance
package import Transport
internal import Vault
package import Vocabulary
internal import WalletStore
package import Wire

/// What operators can have a running server do.
///
/// Who reaches it has been let in by the socket's file permissions; nothing here asks again, and everything is on record
/// with who it was.
package struct AdminCommands: Sendable {
    /// Moves a lab's clock and says the new time; why not, in a sentence, where it throws.
    package typealias Advance = @Sendable (Duration) throws(AdminFailure) -> Timestamp

    let server: RemotePINServer
    var services: ServerState { self.server.state }
    /// Nil outside a lab, where no command moves time.
    private let advance: Advance?
    let operations: ServerOperations

    package init(of server: RemotePINServer, advance: Advance?, operations: ServerOperations) {
        self.server = server
        self.advance = advance
        self.operations = operations
    }

    /// Does one command; what it started has happened when it returns.
    ///
    /// The one place through which every command passes: each is in the audit log, with who gave it and what became of
    /// it, before its answer leaves; one that changes something also before it is begun. What the log does not take is
    /// not done, or its answer is not given. Neither a command nor its result is ever logged as a whole; commands hold
    /// recovery codes.
    package func carryOut(_ command: AdminCommand, by peer: AdminPeer) async -> AdminResult {
        let actor = AuditActor.user(peer.userID, name: await Self.name(of: peer.userID))
        do throws(AdminFailure) {
            let result = try await self.onRecord(command, by: actor)
            self.server.log.notice(
                "admin command done",
                metadata: ["command": "\(command.auditEvent.rawValue)", "by": "\(actor.rawValue)"]
            )
            return result
        } catch {
            self.server.log.notice(
                "admin command refused",
                metadata: [
                    "command": "\(command.auditEvent.rawValue)", "by": "\(actor.rawValue)",
                    "reason": "\(error.sentence)",
                ]
            )
            return .failed(error)
        }
    }

    /// Asks for the name on a thread that may wait: a machine's users may lie in a directory elsewhere.
    private static func name(of user: UInt32) async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Accounts.userName(of: user)) }
        }
    }

    func result(of command: AdminCommand) async throws(AdminFailure) -> AdminResult {
        switch command {
        case .advanceClock(let duration): .clockAdvanced(now: try await self.advanceClock(by: duration))
        case .showWallet(let wallet): .wallet(try await self.report(of: wallet))
        case .revokeWallets(let wallets): try await self.revoke(wallets)
        case .revokeRecoveryCode(let code): .recoveryCodeRevoked(try await self.revoke(code))
        case .revokeSolution: try await self.setSolutionRevoked(true)
        case .restoreSolution: try await self.setSolutionRevoked(false)
        case .listDenied(let after, let limit): .deniedPage(try await self.denied(after: after, limit: limit))
        case .showDenied(let name): .denied(try await self.denied(name))
        case .removeDenied(let name): .denied(try await self.removeDenied(name))
        case .listFlags: .flags(self.flags())
        case .setFlag(let flag, let rollout): .flags(try await self.set(flag, to: rollout))
        case .showUpdatePolicy: .updatePolicy(self.updatePolicy())
        case .setUpdatePolicy(let platforms, let rules):
            .updatePolicy(try await self.setUpdatePolicy(of: platforms, to: rules))
        case .clearUpdatePolicy(let platforms): .updatePolicy(try await self.setUpdatePolicy(of: platforms, to: nil))
        case .showStatus: .status(try await self.status())
        case .listWallets(let filter, let after, let limit):
            .walletPage(try await self.wallets(fitting: filter, after: after, limit: limit))
        case .listSessions(let after, let limit): .sessionPage(self.sessions(after: after, limit: limit))
        case .reload: .reloaded(await self.operations.reload())
        case .setLogLevel(let level):
            self.operations.logLevel(level)
        case .startBackup, .rotateVault, .retireVault, .showUpkeep, .showVaultKeys:
            try await self.maintain(command)
        case .unknown:
            throw AdminFailure(.unsupported, "This server does not know the command; is it older than the program?")
        }
    }

    private func advanceClock(by duration: Duration) async throws(AdminFailure) -> Timestamp {
        guard let advance else {
            throw AdminFailure(.notAllowed, "The clock of a server that is not a lab's cannot be moved.")
        }
        let now = try advance(duration)
        self.server.log.notice("clock advanced", metadata: ["byMs": "\(duration.milliseconds)"])
        await self.server.runDueTimers()
        await self.operations.maintenance?.runDuePurge()
        return now
    }
}

/// What a program lends its server's operators: what is the process's and not the server's.
package struct ServerOperations: Sendable {
    /// The program's.
    package var version: String
    /// Does what SIGHUP does; every part, and why the old one stays where it does.
    package var reload: @Sendable () async -> [ReloadedPart]
    /// Sets the level of the log, or only says it where it is nil; ``AdminResult/logLevel(_:changed:)``.
    package var logLevel: @Sendable (LogLevel?) -> AdminResult
    /// Of the certificate in use.
    package var certificateExpiry: @Sendable () -> Timestamp?
    /// Of the vault, ascending; and the one that seals.
    package var keyVersions: @Sendable () -> (all: [UInt32], active: UInt32)
    /// Backups and the vault's keys; nil where nobody looks after the store.
    package var maintenance: Maintenance?

    package init(
        version: String,
        reload: @escaping @Sendable () async -> [ReloadedPart],
        logLevel: @escaping @Sendable (LogLevel?) -> AdminResult,
        certificateExpiry: @escaping @Sendable () -> Timestamp?,
        keyVersions: @escaping @Sendable () -> (all: [UInt32], active: UInt32),
        maintenance: Maintenance? = nil
    ) {
        self.version = version
        self.reload = reload
        self.logLevel = logLevel
        self.certificateExpiry = certificateExpiry
        self.keyVersions = keyVersions
        self.maintenance = maintenance
    }
}

/// A store's failure as a command's.
func administered<Result>(_ step: () async throws(StoreError) -> Result) async throws(AdminFailure) -> Result {
    do throws(StoreError) { return try await step() } catch { throw AdminFailure(error) }
}

extension AdminFailure {
    /// A store's failure as a command's.
    init(_ error: StoreError) {
        switch error {
        case .unavailable:
            self.init(.unavailable, "The store did not take it: its disk is full, or the server is stopping.")
        case .notErased:
            self.init(
                .unavailable,
                "It is done and stays done, but the store's log still holds what was destroyed: its disk is full. Make "
                    + "room and give the command again."
            )
        case .corrupt: self.init(.internal, "The store holds what this server did not write.")
        }
    }

    /// A vault's failure as a command's.
    init(_ error: VaultError) {
        switch error {
        case .unreachable: self.init(.unavailable, "The vault did not answer.")
        case .notOurs:
            self.init(.internal, "The vault does not open what the store holds; is its key file the right one?")
        }
    }
}
