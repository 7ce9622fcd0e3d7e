internal import AdminProtocol
internal import AuditLog
internal import HostSystem
internal import Logging
internal import RemotePINServer
internal import Synchronization
package import Transport
internal import Vocabulary

/// The role required for a command.
///
/// Each role includes the ones before it.
package enum AdminRole: String, Comparable, Sendable, CaseIterable {
    /// Can view the state of the server, but no wallet records.
    case observer
    /// Can view wallets and revoke them one at a time.
    case support
    /// Can run all commands.
    case security

    package static func < (one: AdminRole, other: AdminRole) -> Bool {
        Self.allCases.firstIndex(of: one) ?? 0 < Self.allCases.firstIndex(of: other) ?? 0
    }
}

/// The permissions of the users who can open the admin socket.
package struct AdminRoles: Sendable {
    /// The group for each role.
    ///
    /// If no role has a group, every user who can open the socket may run all commands.
    package var groups: [AdminRole: UInt32]
    /// The user running the server.
    package var owner: UInt32
    /// Returns the name of a user, or nil if the machine has no such user.
    package var nameOfUser: @Sendable (UInt32) -> String? = { Accounts.userName(of: $0) }

    package init(groups: [AdminRole: UInt32] = [:], owner: UInt32 = 0) {
        self.groups = groups
        self.owner = owner
    }

    /// Returns the highest role of a peer, or nil if it is not allowed to run any command.
    ///
    /// Root and the server's user can change all of the server's files anyway, so restricting their role would not stop
    /// them.
    package func role(of peer: LocalPeer) -> AdminRole? {
        guard !self.groups.isEmpty, peer.userID != 0, peer.userID != self.owner else { return .security }
        return AdminRole.allCases.last { role in self.groups[role].map(peer.groupIDs.contains) ?? false }
    }
}

extension AdminService {
    /// Rejects the command if the peer's role does not allow it, and records that before the answer.
    func requireRole<Call: AdminCall>(
        for call: Call,
        of peer: LocalPeer,
        _ actor: AuditActor
    ) async throws(AdminFailure) {
        let role = self.roles.role(of: peer)
        if let role, role >= call.role { return }
        let own = role.map { "role `\($0.rawValue)`" } ?? "no role"
        let text = "The command needs the role `\(call.role.rawValue)`; this user has \(own)."
        let refusal = RefusedCommands.Refusal(command: Call.name, detail: call.auditDetail, reason: text)
        await self.refused.record(refusal, of: peer.userID) { entry in
            do throws(AuditLogError) {
                try await self.server.audit.append(
                    AuditEvent(rawValue: entry.command),
                    by: actor,
                    .failed(of: nil, reason: entry.reason),
                    detail: entry.detail
                )
            } catch {
                self.server.log.error("the audit log rejected a refusal's entry", metadata: ["reason": "\(error)"])
            }
        }
        throw AdminFailure(.notAllowed, text)
    }
}

/// Records refused commands, with at most one entry a second for each user.
///
/// Threat: a user who may open the socket, but has no role, sends commands as fast as the server answers. If each had
/// an entry, they would fill the disk of the audit log, and no wallet could be revoked.
///
/// Invariant: every refusal is on record before it is answered. Therefore, the answers wait for the user's next entry,
/// which has their number.
final class RefusedCommands: Sendable {
    /// A refused command.
    struct Refusal {
        let command: String
        let detail: String?
        let reason: String
    }

    private struct User {
        /// The refusals that are not on record yet, by the order of their arrival.
        var waiting: [(number: UInt64, refusal: Refusal)] = []
        /// The earliest time of the next entry.
        var next: ContinuousClock.Instant

        /// Returns the earliest time of the entry for a refusal, or nil if the refusal is on record.
        func time(ofEntryFor number: UInt64) -> ContinuousClock.Instant? {
            self.waiting.contains { $0.number == number } ? self.next : nil
        }
    }

    private struct State {
        var users: [UInt32: User] = [:]
        var lastNumber: UInt64 = 0
    }

    /// The shortest time between two entries about one user.
    private static let interval: Duration = .seconds(1)

    private let time: PassingTime
    private let state = Mutex(State())
    private let entries = KeyedAsyncLock<UInt32>()

    init(time: PassingTime) { self.time = time }

    /// The number of a user's refusals that are not on record yet.
    func waitingCount(of user: UInt32) -> Int { self.state.withLock { $0.users[user]?.waiting.count ?? 0 } }

    /// Returns once the refusal is on record.
    ///
    /// - Parameter append: Appends one entry for all refusals of the user that wait for it. The first of them names its
    ///   command.
    func record(_ refusal: Refusal, of user: UInt32, _ append: (Refusal) async -> Void) async {
        let number = self.state.withLock { state in
            let now = self.time.now()
            state.users = state.users.filter { !$0.value.waiting.isEmpty || $0.value.next > now }
            state.lastNumber += 1
            state.users[user, default: User(next: now)].waiting.append((state.lastNumber, refusal))
            return state.lastNumber
        }
        await self.entries.acquire(user)
        defer { self.entries.release(user) }
        guard let next = self.state.withLock({ $0.users[user]?.time(ofEntryFor: number) }) else { return }
        // Throws only if the listener stops. The entry is then written at once.
        if next > self.time.now() { try? await self.time.sleepUntil(next) }
        let waiting = self.state.withLock { state in
            defer { state.users[user] = User(next: self.time.now() + Self.interval) }
            return state.users[user]?.waiting.map(\.refusal) ?? []
        }
        await append(Self.entry(for: waiting))
    }

    /// Returns the content of the entry for one or more refusals.
    private static func entry(for refusals: [Refusal]) -> Refusal {
        precondition(!refusals.isEmpty, "the caller's refusal is among them")
        let (first, others) = (refusals[0], refusals.dropFirst())
        guard !others.isEmpty else { return first }
        let names = Set(others.map(\.command)).sorted().joined(separator: ", ")
        return Refusal(
            command: first.command,
            detail: first.detail,
            reason: "\(first.reason) Within a second, \(others.count) more commands of this user were refused: "
                + "\(names)."
        )
    }
}
