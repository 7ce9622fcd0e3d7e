package import AdminProtocol
internal import AuditLog
internal import Dispatch
internal import HostSystem
internal import Logging
package import RemotePINServer
package import StoreMaintenance
package import Transport
package import Vocabulary

/// Runs operator commands on a running server.
///
/// The permissions of the socket file determine who can send commands, and ``AdminRoles`` determines which commands
/// they may run. The audit log records the user of every command.
package struct AdminService: Sendable {
    /// Advances a lab's clock and returns the new time.
    package typealias Advance = @Sendable (Duration) throws(AdminFailure) -> Timestamp

    package let server: RemotePINServer
    /// Nil outside a lab, because no command can change a production server's time.
    let advance: Advance?
    package let operations: ServerOperations
    package let roles: AdminRoles
    let lanes = KeyedAsyncLock<AdminLane>()
    let pages = ListPages()
    let refused: RefusedCommands

    package init(
        of server: RemotePINServer,
        advance: Advance?,
        operations: ServerOperations,
        roles: AdminRoles = AdminRoles(),
        time: PassingTime = PassingTime()
    ) {
        self.server = server
        self.advance = advance
        self.operations = operations
        self.roles = roles
        self.refused = RefusedCommands(time: time)
    }

    /// Runs one command.
    ///
    /// All commands go through this method. Before the reply is sent, it records the command in the audit log with the
    /// user and the outcome. A command that changes something is also recorded before the change. Commands and replies
    /// are never logged in full, because commands can contain recovery codes.
    package func carryOut<Call: AdminCall>(_ call: Call, by peer: LocalPeer) async throws(AdminFailure) -> Call.Reply {
        let actor = AuditActor.user(peer.userID, name: await self.name(of: peer.userID))
        do {
            try await self.requireRole(for: call, of: peer, actor)
            let reply = try await self.recorded(call, by: actor)
            self.server.log.notice(
                "admin command done",
                metadata: ["command": "\(Call.name)", "by": "\(actor.rawValue)"]
            )
            return reply
        } catch {
            let failure = AdminFailure(error, sharesStore: self.serverName != nil)
            self.server.log.notice(
                "admin command refused",
                metadata: ["command": "\(Call.name)", "by": "\(actor.rawValue)", "reason": "\(failure.message)"]
            )
            throw failure
        }
    }

    /// Looks up the user's name on a thread that may block, because the machine's users may be in a remote directory.
    private func name(of user: UInt32) async -> String? {
        let nameOfUser = self.roles.nameOfUser
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: nameOfUser(user)) }
        }
    }
}

/// Operations on the process, rather than the server, that commands use.
package struct ServerOperations: Sendable {
    /// The program's version.
    package var version: String
    /// Does the same as SIGHUP and returns the outcome for each part.
    package var reload: @Sendable () async -> [ReloadedPart]
    /// Sets the log level if the argument is not nil, and returns the current level.
    package var logLevel: @Sendable (LogLevel?) -> SetLogLevel.Reply
    /// The expiry of the current certificate, or nil if unknown.
    package var certificateExpiry: @Sendable () -> Timestamp?
    /// The versions in the vault's key file in ascending order, and the one used for sealing.
    package var keyVersions: @Sendable () -> (all: [UInt32], active: UInt32)
    /// Makes backups and rotates the vault's keys.
    package var maintenance: Maintenance

    package init(
        version: String,
        reload: @escaping @Sendable () async -> [ReloadedPart],
        logLevel: @escaping @Sendable (LogLevel?) -> SetLogLevel.Reply,
        certificateExpiry: @escaping @Sendable () -> Timestamp?,
        keyVersions: @escaping @Sendable () -> (all: [UInt32], active: UInt32),
        maintenance: Maintenance
    ) {
        self.version = version
        self.reload = reload
        self.logLevel = logLevel
        self.certificateExpiry = certificateExpiry
        self.keyVersions = keyVersions
        self.maintenance = maintenance
    }
}
