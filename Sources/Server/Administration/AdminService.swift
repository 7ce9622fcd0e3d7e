package import AdminProtocol
internal import AuditLog
internal import Dispatch
internal import HostSystem
internal import Logging
package import RemotePINServer
internal import ServiceLifecycle
package import StoreMaintenance
package import Transport
internal import Vault
package import Vocabulary
package import WalletStore

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

extension AdminService {
    /// Returns the reply to a connection that exceeds a limit of the socket.
    package static func busyAnswer(_ reason: RefusedConnections.Reason) -> [UInt8] {
        let limits = TransportLimits.admin
        let open =
            reason == .connectionsPerSource
            ? "\(limits.connectionsPerSource) other connections of this user to the socket are open"
            : "\(limits.connections) connections to the socket are open or kept for root and the server's user"
        let text =
            "\(open), which is the limit; nothing was done. Repeat the command when one has ended: a connection "
            + "without commands is closed after a minute."
        return AdminCoding.encode(AdminReply<NoArguments>(id: 0, failure: AdminFailure(.unavailable, text)))
    }

    /// Answers the commands received on a socket until graceful shutdown or cancellation.
    package func serve(_ listener: LocalListener) async {
        await withGracefulShutdownHandler {
            await listener.serve { await self.answer($0, from: $1) }
        } onGracefulShutdown: {
            listener.stop()
        }
    }

    /// Answers one request.
    ///
    /// A request that does not follow the protocol leaves no audit entry, because it contains no known command. A
    /// request with an unknown command, version or member is rejected as a whole, so a command is never partially
    /// executed.
    package func answer(_ frame: [UInt8], from peer: LocalPeer) async -> LocalListener.Answer {
        let header: AdminHeader
        do {
            header = try AdminCoding.decode(AdminHeader.self, from: frame)
        } catch {
            return Self.malformed(error, id: 0)
        }
        guard header.version == AdminHeader.currentVersion, let call = AdminCalls.named(header.command) else {
            return await self.answer(UnknownCall(), header.id, peer)
        }
        return await self.answer(call, frame, header.id, peer)
    }

    private func answer<Call: AdminCall>(
        _: Call.Type,
        _ frame: [UInt8],
        _ id: UInt64,
        _ peer: LocalPeer
    ) async -> LocalListener.Answer {
        let call: Call
        do {
            let request = try AdminCoding.decode(AdminRequest<Call>.self, from: frame)
            let members = try AdminCoding.decode(JSONMembers.self, from: frame)
            let known = try AdminCoding.decode(JSONMembers.self, from: AdminCoding.encode(request))
            guard members.areAll(in: known) else { return await self.answer(UnknownCall(), id, peer) }
            try request.arguments.validate()
            call = request.arguments
        } catch {
            return Self.malformed(error, id: id)
        }
        return await self.answer(call, id, peer)
    }

    private func answer<Call: AdminCall>(_ call: Call, _ id: UInt64, _ peer: LocalPeer) async -> LocalListener.Answer {
        var reply: AdminReply<Call.Reply>
        do throws(AdminFailure) {
            reply = AdminReply(id: id, reply: try await self.carryOut(call, by: peer))
        } catch {
            reply = AdminReply(id: id, failure: error)
        }
        reply.server = self.serverName
        let frame = AdminCoding.encode(reply)
        guard frame.count > LocalListener.longestAnswer else { return LocalListener.Answer(frame, isUse: true) }
        let failure = AdminFailure(.internal, "The reply is too long: \(frame.count) bytes.")
        return LocalListener.Answer(AdminCoding.encode(AdminReply<Call.Reply>(id: id, failure: failure)), isUse: true)
    }

    private static func malformed(_ error: any Error, id: UInt64) -> LocalListener.Answer {
        let failure =
            error as? AdminFailure
            ?? AdminFailure(
                .malformed,
                "The request cannot be read: \((error as? DecodingError)?.brief ?? "not JSON")."
            )
        return LocalListener.Answer(AdminCoding.encode(AdminReply<NoArguments>(id: id, failure: failure)), isUse: false)
    }
}

extension DecodingError {
    /// Describes the problem and its location, without the value, which could be a recovery code.
    fileprivate var brief: String {
        let (context, problem): (Context, String) =
            switch self {
            case .keyNotFound(let key, let context): (context, "`\(key.stringValue)` is missing")
            case .typeMismatch(_, let context): (context, "has another type")
            case .valueNotFound(_, let context): (context, "is null")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (Context(codingPath: [], debugDescription: ""), "unknown problem")
            }
        let place = context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
        return place.isEmpty ? problem : "\(place): \(problem)"
    }
}

/// The structure of a JSON value: its objects and arrays, but no other values.
private enum JSONMembers: Decodable {
    case object([String: JSONMembers])
    case array([JSONMembers])
    case null, value

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The depth at which a request is rejected; a request of the protocol has at most 4 levels.
    ///
    /// Threat: a user without a role keeps the server's threads busy for minutes with a few kilobytes. The time to
    /// decode nested arrays grows with the third power of their depth, and a request is decoded before the role counts.
    private static let excessiveDepth = 8

    init(from decoder: any Decoder) throws {
        guard decoder.codingPath.count < Self.excessiveDepth else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "values are nested too deeply")
            )
        }
        if let object = try? decoder.container(keyedBy: Key.self) {
            var members: [String: JSONMembers] = [:]
            for key in object.allKeys { members[key.stringValue] = try object.decode(JSONMembers.self, forKey: key) }
            self = .object(members)
        } else if var array = try? decoder.unkeyedContainer() {
            var elements: [JSONMembers] = []
            while !array.isAtEnd { elements.append(try array.decode(JSONMembers.self)) }
            self = .array(elements)
        } else {
            self = try decoder.singleValueContainer().decodeNil() ? .null : .value
        }
    }

    /// Returns whether every member of every object here is also in `other`.
    ///
    /// A null member is treated as absent.
    func areAll(in other: JSONMembers) -> Bool {
        switch (self, other) {
        case (.object(let members), .object(let others)):
            return members.allSatisfy { key, value in
                if case .null = value { return true }
                return others[key].map { value.areAll(in: $0) } ?? false
            }
        case (.array(let elements), .array(let others)):
            return elements.count <= others.count && zip(elements, others).allSatisfy { $0.areAll(in: $1) }
        case (.null, _), (.value, .value): return true
        case (.object, _), (.array, _), (.value, _): return false
        }
    }
}

// The audit entries of commands:
//
//     changing:  begun, durable ─▶ commit ─▶ done, durable ─▶ reply
//     reading:                     read   ─▶ done, durable ─▶ reply
//     a further page of a list:    read   ─▶ reply
//
// If the audit log rejects an entry, the command is not run or the reply is not sent.
extension AdminService {
    /// Runs a command, writing audit entries before and after it.
    func recorded<Call: AdminCall>(_ call: Call, by actor: AuditActor) async throws -> Call.Reply {
        guard let lane = Call.lane else { return try await self.inItsLane(call, by: actor) }
        return try await self.lanes.withLock(lane) { try await self.inItsLane(call, by: actor) }
    }

    private func inItsLane<Call: AdminCall>(_ call: Call, by actor: AuditActor) async throws -> Call.Reply {
        try await call.withSubject(in: self) { subject in
            var entries = CommandEntries(
                event: AuditEvent(rawValue: Call.name),
                actor: actor,
                detail: call.auditDetail,
                subjects: subject.inParts
            )
            if call.effect != .read { try await self.begin(&entries) }  // rule: server-command-before-record
            let reply: Call.Reply
            do {
                reply = try await call.run(in: self)
            } catch {
                await self.enter(AdminFailure(error, sharesStore: self.serverName != nil), entries)
                throw error
            }
            if call.page.map({ self.pages.take($0, by: actor) }) != true {
                entries.add(call.auditedWallets(of: reply))
                try await self.enterDone(call.effect == .start ? "begun" : call.auditResult(of: reply), entries)
            }
            if let next = call.page(after: reply) { self.pages.expect(next, by: actor) }
            return reply
        }
    }

    private func begin(_ entries: inout CommandEntries) async throws(AdminFailure) {
        for subject in entries.subjects {
            do throws(AdminFailure) {
                entries.begun.append(try await self.append(.begun, of: entries, on: subject))
            } catch {
                // The earlier parts were recorded as begun, but nothing has been done yet.
                if !entries.begun.isEmpty { await self.enter(error, entries, isUndone: true) }
                throw error
            }
        }
    }

    private func enterDone(_ result: String, _ entries: CommandEntries) async throws(AdminFailure) {
        guard entries.begun.isEmpty else {
            for (begun, subject) in zip(entries.begun, entries.subjects) {
                let phase = AuditPhase.done(of: begun, result: result)
                await self.server.audit.mustAppend(
                    entries.event,
                    by: entries.actor,
                    on: subject,
                    phase,
                    detail: entries.detail
                )
            }
            return
        }
        for subject in entries.subjects {
            _ = try await self.append(.done(of: nil, result: result), of: entries, on: subject)
        }
    }

    /// Records a failure.
    ///
    /// If the store did not answer, the change may have been committed, so the outcome is recorded as unclear.
    private func enter(_ failure: AdminFailure, _ entries: CommandEntries, isUndone: Bool = false) async {
        let (audit, reason) = (self.server.audit, failure.message)
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
                self.server.log.error("the audit log rejected a failure's entry", metadata: ["reason": "\(error)"])
            }
        }
    }

    /// Appends an entry and returns its number.
    private func append(
        _ phase: AuditPhase,
        of entries: CommandEntries,
        on subject: AuditSubject
    ) async throws(AdminFailure) -> UInt64 {
        do throws(AuditLogError) {
            return try await self.server.audit.append(
                entries.event,
                by: entries.actor,
                on: subject,
                phase,
                detail: entries.detail
            ).number
        } catch {
            self.server.log.error("the audit log accepts no entries", metadata: ["reason": "\(error)"])
            throw AdminFailure(.unavailable, "The audit log rejected the entry, so nothing was done: \(error).")
        }
    }
}

/// The audit entries for one command.
private struct CommandEntries {
    let event: AuditEvent
    let actor: AuditActor
    let detail: String?
    /// The subjects of a phase, one per entry, since an entry can only name a limited number of wallets.
    var subjects: [AuditSubject]
    /// The numbers of the entries written before the change.
    var begun: [UInt64] = []

    /// Names further wallets in the last entry of the next phase: a replay takes the wallets of the `done` entry.
    mutating func add(_ wallets: Set<WalletID>) {
        let missing = wallets.subtracting(self.subjects.flatMap(\.wallets))
        guard !missing.isEmpty, let last = self.subjects.indices.last else { return }
        self.subjects[last].wallets += missing
    }
}

// The effects of a revocation after it has been committed.
//
// The reply to a revocation guarantees that no more of the wallet's data leaves any server of the store (G7). To ensure
// this, the store commits first. Each server then closes the wallet's connections, and only then is the reply sent.

/// The kind of command that revoked the wallets.
enum RevocationCause {
    case `operator`, recoveryCode

    fileprivate var revocation: Revocation {
        switch self {
        case .operator: Revocation(reason: .wallet, mayRegisterAnew: true)
        case .recoveryCode: Revocation(reason: .recoveryCode, mayRegisterAnew: false)
        }
    }

    fileprivate var line: Logger.Message {
        switch self {
        case .operator: "wallet revoked by an operator"
        case .recoveryCode: "wallet revoked by its recovery code"
        }
    }
}

extension AdminService {
    /// Waits until none of the wallets' data is in flight at any server.
    ///
    /// Reports the wallets that were revoked at `now` to the log and the hooks.
    ///
    /// - Parameter now: The time of the revocation, or nil if it revoked no wallet because all of them had already been
    ///   revoked.
    /// - Returns: The servers that have acknowledged the revocation; nil for an embedded store.
    @discardableResult
    func settle(
        _ wallets: some Collection<WalletID>,
        endedAt now: Timestamp?,
        by cause: RevocationCause
    ) async throws(AdminFailure) -> Acknowledgements? {
        await self.server.closeConnections(of: wallets)
        if let now { await self.report(wallets, endedAt: now, by: cause) }
        return try await self.acknowledgements()
    }

    private func report(_ wallets: some Collection<WalletID>, endedAt now: Timestamp, by cause: RevocationCause) async {
        for wallet in Set(wallets) {
            // If the store does not answer, it is better to report a wallet twice than not at all.
            if let report = try? await self.server.store.report(of: wallet), report.revokedAt != now { continue }
            self.server.log.notice(cause.line, metadata: ["wallet": "\(wallet)"])
            self.server.report(.revoked(wallet, cause.revocation))
        }
    }
}

// Several servers on one store. Every command works at each of them, and its reply names the server that gave it.
extension AdminService {
    /// This server's name and the servers with a lease; nil for an embedded store.
    var cluster: ClusterView? {
        self.server.lease.map { ClusterView(server: $0.server, servers: $0.servers) }
    }

    /// This server's name among those of its store; nil for an embedded store.
    var serverName: String? { self.server.lease?.server }

    /// Returns after every server has acknowledged the revocations committed so far, or has lost its lease; nil for an
    /// embedded store.
    func acknowledgements() async throws(AdminFailure) -> Acknowledgements? {
        guard let lease = self.server.lease else { return nil }
        return try await mapError(of: await lease.acknowledgements()) { (_: StoreError) in
            AdminFailure(
                .unavailable,
                "It is done and remains done, but the database does not answer, so other servers may not have closed "
                    + "their open sessions yet. Repeat the command."
            )
        }
    }
}

/// The servers of a store, as one of them knows them.
package struct ClusterView: Codable, Hashable, Sendable {
    /// The server that gave the reply, for which all other figures are.
    package var server: String
    /// The servers with a lease, this one among them.
    package var servers: [LeasedServer]

    /// The names of the other servers.
    var others: [String] { self.servers.map(\.name).filter { $0 != self.server } }
    /// The number of open sessions at all servers.
    package var sessions: Int { self.servers.reduce(0) { $0 + $1.sessions } }
    /// The number of open connections at all servers.
    package var connections: Int { self.servers.reduce(0) { $0 + $1.connections } }

    /// One line for operators.
    var text: String {
        let others = self.servers.map { server in
            let task = server.hasMaintenance ? ", maintenance" : ""
            return "\(server.name) (\(server.sessions) sessions, \(server.program)\(task))"
        }
        return "\(self.server), of \(self.servers.count) live: \(others.joined(separator: ", ")); "
            + "\(self.sessions) sessions on \(self.connections) connections at all of them"
    }
}

extension Acknowledgements {
    /// One line for operators.
    var text: String {
        let ended = self.ended.isEmpty ? "" : "; without a lease, so releasing nothing: "
        return
            "acknowledged by \(self.acknowledged.joined(separator: ", "))\(ended)\(self.ended.joined(separator: ", "))"
    }
}

extension AdminFailure {
    /// Converts an error thrown by a command to one that can be shown to the operator.
    ///
    /// - Parameter sharesStore: Whether several servers share the store, which is then a database.
    init(_ error: any Error, sharesStore: Bool) {
        switch error {
        case let failure as AdminFailure: self = failure
        case StoreError.unavailable where sharesStore:
            self.init(
                .unavailable,
                "The command is not complete: the database does not answer, as during a failover, or rejects a step, "
                    + "or this server is stopping. Earlier steps remain done. The server's log has the reason. Repeat "
                    + "the command."
            )
        case StoreError.unavailable:
            self.init(
                .unavailable,
                "The store rejected a step of the command: its disk is full, or the server is stopping. Earlier steps "
                    + "remain done. Repeat the command."
            )
        case StoreError.outcomeUnknown:
            self.init(
                .unavailable,
                "It is unknown whether it was done: the database did not confirm the commit. Look at the state, and "
                    + "repeat the command."
            )
        case StoreError.notErased:
            self.init(
                .unavailable,
                "It is done and remains done, but the store's log still contains the destroyed values because its disk "
                    + "is full. Free some space and repeat the command."
            )
        case StoreError.corrupt: self.init(.internal, "The store contains data that this server did not write.")
        case VaultError.unreachable: self.init(.unavailable, "The vault did not answer.")
        case VaultError.notOurs, VaultError.noKey, VaultError.wiped:
            self.init(.internal, "The vault cannot open a value of the store; is its key file the right one?")
        case MaintenanceFailure.notAllowed(let message): self.init(.notAllowed, message)
        case MaintenanceFailure.unavailable(let message): self.init(.unavailable, message)
        default: self.init(.internal, "Unexpected failure: \(error).")
        }
    }
}
