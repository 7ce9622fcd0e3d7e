package import AdminProtocol
internal import AuditLog
internal import Dispatch
internal import HostSystem
internal import Logging
package import RemotePINServer
package import StoreMaintenance
package import Transport
package import Vocabulary

/// Carries out the commands of operators on a running server.
///
/// The permissions of the socket's file decide who can send commands, and ``AdminRoles`` which ones. The audit log
/// records the user of every command.
package struct AdminService: Sendable {
    /// Moves a lab's clock and returns the new time.
    package typealias Advance = @Sendable (Duration) throws(AdminFailure) -> Timestamp

    package let server: RemotePINServer
    /// Nil outside a lab: no command moves the time of a production server.
    let advance: Advance?
    package let operations: ServerOperations
    package let roles: AdminRoles
    let lanes = KeyedAsyncLock<AdminLane>()
    let pages = ListPages()
    let pending = PendingRequests()
    /// The user of the command in progress; nil outside one.
    private(set) var caller: AdminCaller?

    package init(
        of server: RemotePINServer,
        advance: Advance?,
        operations: ServerOperations,
        roles: AdminRoles = AdminRoles()
    ) {
        self.server = server
        self.advance = advance
        self.operations = operations
        self.roles = roles
    }

    /// Carries out one command.
    ///
    /// Every command passes through here: the audit log records each of them, with its user and outcome, before the
    /// reply is sent. A command that changes something is also recorded before the change. Neither a command nor its
    /// reply is logged as a whole, because commands contain recovery codes.
    package func carryOut<Call: AdminCall>(_ call: Call, by peer: LocalPeer) async throws(AdminFailure) -> Call.Reply {
        let name = await self.name(of: peer.userID)
        let actor = AuditActor.user(peer.userID, name: name)
        let caller = AdminCaller(
            userID: peer.userID,
            actor: actor,
            isPerson: name != nil && self.roles.isPerson(peer)
        )
        do {
            try await self.requireRole(for: call, of: peer, actor)
            try await self.requireSecondPerson(for: call, of: caller)
            var service = self
            service.caller = caller
            let reply = try await service.recorded(call, by: actor)
            self.server.log.notice(
                "admin command done",
                metadata: ["command": "\(Call.name)", "by": "\(actor.rawValue)"]
            )
            return reply
        } catch {
            let failure = AdminFailure(error)
            self.server.log.notice(
                "admin command refused",
                metadata: ["command": "\(Call.name)", "by": "\(actor.rawValue)", "reason": "\(failure.message)"]
            )
            throw failure
        }
    }

    /// Looks the name up on a thread that may block: a machine's users may be in a remote directory.
    private func name(of user: UInt32) async -> String? {
        let nameOfUser = self.roles.nameOfUser
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: nameOfUser(user)) }
        }
    }
}

/// The user of a command.
struct AdminCaller: Sendable {
    let userID: UInt32
    let actor: AuditActor
    /// Indicates that the user counts as one of two persons.
    ///
    /// Threat: one person confirms the own request under another user id. Root and the server's user are reached with
    /// sudo, and the ids of `/etc/subuid` with a user namespace, which keeps the person's groups; those ids have no
    /// account.
    let isPerson: Bool
}

/// The functions of the process, as opposed to those of the server, that commands use.
package struct ServerOperations: Sendable {
    /// The program's version.
    package var version: String
    /// Does the same as SIGHUP and returns the outcome of each part.
    package var reload: @Sendable () async -> [ReloadedPart]
    /// Sets the level of the log, unless it is nil, and returns the level.
    package var logLevel: @Sendable (LogLevel?) -> SetLogLevel.Reply
    /// The expiry of the certificate in use; nil if unknown.
    package var certificateExpiry: @Sendable () -> Timestamp?
    /// The versions of the vault's key file, ascending, and the one that seals.
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
