import AdminProtocol
import AuditLog
import RemotePINServer
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import Administration

@Suite("Roles of operators")
struct RolesTests {
    private static let roles = AdminRoles(groups: [.observer: 701, .support: 702, .security: 703], owner: 600)

    /// A time in which waiting takes none.
    static var time: PassingTime {
        var time = PassingTime()
        time.sleepUntil = { _ in }
        return time
    }

    private static func peer(_ user: UInt32, _ groups: UInt32...) -> LocalPeer {
        LocalPeer(userID: user, processID: 1, groupIDs: Set(groups))
    }

    /// Returns the failure of a command; nil if it was carried out.
    static func refusal(
        of call: some AdminCall,
        by peer: LocalPeer,
        in service: AdminService
    ) async -> AdminFailure? {
        do throws(AdminFailure) {
            _ = try await service.carryOut(call, by: peer)
            return nil
        } catch {
            return error
        }
    }

    @Test("each command needs the role of this table; one that is not in it needs the highest")
    func table() throws {
        let table: [AdminRole: Set<String>] = [
            .observer: [
                "status", "sessions", "flags list", "update-policy show", "vault status", "maintenance show",
                "log-level", "requests",
            ],
            .support: ["wallet list", "wallet show", "revoke wallet"],
        ]
        for call in try AdminSamples.calls() {
            let name = type(of: call).name
            var expected = table.first { $0.value.contains(name) }?.key ?? .security
            // Setting the level, and revoking several wallets at once, need the highest role.
            if let call = call as? SetLogLevel, call.level != nil { expected = .security }
            if let call = call as? RevokeWallets, call.wallets.count > 1 { expected = .security }
            #expect(call.role == expected, "\(name)")
        }
    }

    @Test("a user has the highest role of the process's groups; root and the server's user have every role")
    func groups() {
        let roles = Self.roles
        #expect(roles.role(of: Self.peer(1000)) == nil)
        #expect(roles.role(of: Self.peer(1000, 700, 704)) == nil)
        #expect(roles.role(of: Self.peer(1000, 701)) == .observer)
        #expect(roles.role(of: Self.peer(1000, 701, 702)) == .support)
        #expect(roles.role(of: Self.peer(1000, 703)) == .security)
        #expect(roles.role(of: Self.peer(0)) == .security && roles.role(of: Self.peer(600)) == .security)
        let one = AdminRoles(groups: [.security: 703], owner: 600)
        #expect(one.role(of: Self.peer(1000, 701, 702)) == nil)
        #expect(AdminRoles().role(of: Self.peer(1000)) == .security)
    }

    @Test("a command beyond the user's role is refused, changes nothing and is on record")
    func refusals() async throws {
        try await InProcessServer.run { server in
            let commands = server.commands
            let service = AdminService(
                of: server.server,
                advance: nil,
                operations: commands.operations,
                roles: Self.roles,
                time: Self.time
            )
            let (one, two) = (try await server.wallet().walletID, try await server.wallet().walletID)
            func check(_ call: some AdminCall, by groups: Set<UInt32>, needs role: String?) async throws {
                let before = try await server.record().count
                let peer = LocalPeer(userID: 4712, processID: 1, groupIDs: groups)
                let failure = await Self.refusal(of: call, by: peer, in: service)
                #expect(failure?.kind == (role == nil ? nil : .notAllowed))
                #expect(role == nil || failure?.message.contains("role `\(role ?? "")`") == true, "\(failure as Any)")
                let entries = try await server.record().dropFirst(before)
                #expect(entries.allSatisfy { $0.actor.rawValue.hasPrefix("uid 4712") })
                #expect(entries.allSatisfy { $0.event.rawValue == type(of: call).name } && !entries.isEmpty)
                guard role != nil else { return }
                guard entries.count == 1, case .failed(of: nil, let reason)? = entries.first?.phase else {
                    Issue.record("not on record as refused: \(entries)")
                    return
                }
                #expect(reason == failure?.message)
            }
            try await check(ShowStatus(), by: [], needs: "observer")
            try await check(ShowStatus(), by: [701], needs: nil)
            try await check(ShowWallet(one), by: [701], needs: "support")
            try await check(ShowWallet(one), by: [702], needs: nil)
            try await check(RevokeWallets([one]), by: [701], needs: "support")
            try await check(RevokeWallets([one, two]), by: [702], needs: "security")
            try await check(RevokeSolution(), by: [702], needs: "security")
            let code = try RecoveryCode(Array("NL-999-1234".utf8)).orThrow()
            try await check(RevokeRecoveryCode(code), by: [701, 702], needs: "security")
            #expect(try await server.give(ShowStatus()).solutionRevoked == false)
            for wallet in [one, two] { #expect(try await server.give(ShowWallet(wallet)).state != .revoked) }
            try await check(RevokeWallets([one]), by: [702], needs: nil)
            #expect(try await server.give(ShowWallet(one)).state == .revoked)
            try await check(RevokeSolution(), by: [703], needs: nil)
            #expect(try await server.give(ShowStatus()).solutionRevoked)
            let unknown = await service.answer(request("wallet destroy", "{}"), from: Self.peer(4712, 700))
            #expect(String(decoding: unknown.frame, as: UTF8.self).contains("no role"))
        }
    }
}

@Suite("Commands that need two persons")
struct TwoPersonsTests {
    private static let roles = Self.withAccounts(
        AdminRoles(groups: [.support: 702, .security: 703], owner: 600, confirmation: .seconds(900))
    )
    /// A user id of alice's in `/etc/subuid`, which a user namespace gives her together with her groups.
    private static let subordinate = LocalPeer(userID: 100_001, processID: 6, groupIDs: [703])
    private static let alice = LocalPeer(userID: 1001, processID: 1, groupIDs: [703])
    private static let bob = LocalPeer(userID: 1002, processID: 2, groupIDs: [703])
    private static let carol = LocalPeer(userID: 1003, processID: 3, groupIDs: [702])
    private static let root = LocalPeer(userID: 0, processID: 4, groupIDs: [0, 703])
    private static let owner = LocalPeer(userID: 600, processID: 5, groupIDs: [703])

    private static func service(_ server: InProcessServer, _ roles: AdminRoles = Self.roles) -> AdminService {
        AdminService(
            of: server.server,
            advance: nil,
            operations: server.commands.operations,
            roles: roles,
            time: RolesTests.time
        )
    }

    /// Gives every user an account but the subordinate one.
    private static func withAccounts(_ roles: AdminRoles) -> AdminRoles {
        var roles = roles
        roles.nameOfUser = { $0 == 100_001 ? nil : "user\($0)" }
        return roles
    }

    /// Requests the revocation of the solution, and returns the request's id.
    private static func requestID(by peer: LocalPeer, in service: AdminService) async throws -> String {
        let failure = await RolesTests.refusal(of: RevokeSolution(), by: peer, in: service)
        #expect(failure?.kind == .notAllowed && failure?.message.contains("Not done yet") == true)
        let words = try (failure?.message.firstMatch(of: /admin confirm ([0-9a-f]{8}) revoke solution/)).orThrow()
        return String(words.1)
    }

    private static func confirmation(
        _ id: String,
        _ command: String = "revoke solution",
        by peer: LocalPeer,
        in service: AdminService
    ) async -> String? {
        await RolesTests.refusal(of: ConfirmRequest(id: id, command: command), by: peer, in: service)?.message
    }

    private static func isRevoked(_ server: InProcessServer) async throws -> Bool {
        try await server.give(ShowStatus()).solutionRevoked
    }

    @Test("one person requests and another confirms, once; both are on record, and nothing is begun before")
    func confirmed() async throws {
        try await InProcessServer.run { server in
            let service = Self.service(server)
            let id = try await Self.requestID(by: Self.alice, in: service)
            let listed = try await service.carryOut(ListRequests(), by: Self.bob).requests
            #expect(listed.map(\.id) == [id] && listed.first?.command == "revoke solution")
            #expect(try await !Self.isRevoked(server))
            let requested = try await server.record()
            #expect(!requested.contains { $0.event == .revokeSolution })
            let entry = try requested.last { $0.event == .request }.orThrow()
            #expect(entry.detail == "revoke solution" && entry.actor.rawValue.hasPrefix("uid 1001"))

            let reply = try await service.carryOut(ConfirmRequest(id: id, command: "revoke solution"), by: Self.bob)
            #expect(reply.requestedBy.hasPrefix("uid 1001"))
            #expect(try await Self.isRevoked(server))
            let entries = try await server.record().filter { $0.event == .revokeSolution }
            #expect(entries.count == 2 && entries.first?.phase == .begun)
            let actors = entries.map(\.actor.rawValue)
            #expect(actors.allSatisfy { $0.contains("uid 1002") && $0.contains("requested by uid 1001") }, "\(actors)")
            #expect(await Self.confirmation(id, by: Self.bob, in: service)?.contains("No request") == true)
        }
    }

    @Test("the requester, root, the server's user and a lower role cannot confirm, and each attempt is on record")
    func others() async throws {
        try await InProcessServer.run { server in
            let service = Self.service(server)
            let id = try await Self.requestID(by: Self.alice, in: service)
            for (peer, reason) in [
                (Self.alice, "is yours"), (LocalPeer(userID: 1001, processID: 99, groupIDs: [703]), "is yours"),
                (Self.root, "Neither root"), (Self.owner, "Neither root"), (Self.carol, "role `security`"),
                (Self.subordinate, "without an account"),
            ] {
                let before = try await server.record().count
                let refusal = await Self.confirmation(id, by: peer, in: service)
                #expect(refusal?.contains(reason) == true, "\(refusal as Any)")
                let entries = try await server.record().dropFirst(before)
                #expect(entries.last?.event.rawValue == "confirm")
                guard case .failed(_, let text)? = entries.last?.phase else {
                    Issue.record("not on record: \(entries)")
                    continue
                }
                #expect(text == refusal)
            }
            #expect(try await !Self.isRevoked(server))
            // They do not count as the first person, either.
            for peer in [Self.root, Self.owner, Self.subordinate] {
                let refused = await RolesTests.refusal(of: RevokeSolution(), by: peer, in: service)
                #expect(refused?.message.contains("Two persons") == true, "\(refused as Any)")
            }
            #expect(try await service.carryOut(ListRequests(), by: Self.bob).requests.map(\.id) == [id])
            #expect(await Self.confirmation(id, by: Self.bob, in: service) == nil)
        }
    }

    @Test("a confirmation is for one request and its command, and not for another one made since")
    func exchanged() async throws {
        try await InProcessServer.run { server in
            let service = Self.service(server)
            let id = try await Self.requestID(by: Self.alice, in: service)
            let refused = await RolesTests.refusal(of: RetireVault(), by: Self.alice, in: service)
            #expect(refused?.message.contains("admin confirm") == true)
            let requests = try await service.carryOut(ListRequests(), by: Self.bob).requests
            let other = try requests.first { $0.command == "vault retire" }.orThrow().id
            #expect(other != id)
            #expect(await Self.confirmation(id, "vault retire", by: Self.bob, in: service)?.contains("not for") == true)
            #expect(await Self.confirmation(other, by: Self.bob, in: service)?.contains("not for") == true)
            #expect(await Self.confirmation("00000000", by: Self.bob, in: service)?.contains("No request") == true)
            #expect(try await !Self.isRevoked(server))
            #expect(await Self.confirmation(id, by: Self.bob, in: service) == nil)
            #expect(try await Self.isRevoked(server))
        }
    }

    @Test("an expired request and one from before a restart are not carried out")
    func expired() async throws {
        try await InProcessServer.run { server in
            let service = Self.service(server)
            let late = try await Self.requestID(by: Self.alice, in: service)
            server.clock.advance(by: .seconds(900))
            #expect(await Self.confirmation(late, by: Self.bob, in: service)?.contains("expired") == true)
            #expect(await Self.confirmation(late, by: Self.bob, in: service)?.contains("No request") == true)

            let lost = try await Self.requestID(by: Self.alice, in: service)
            let restarted = Self.service(server)
            #expect(try await restarted.carryOut(ListRequests(), by: Self.bob).requests.isEmpty)
            #expect(await Self.confirmation(lost, by: Self.bob, in: restarted)?.contains("No request") == true)
            // A start carries out what the log has as begun.
            #expect(try await !server.record().contains { $0.event == .revokeSolution })
            #expect(try await !Self.isRevoked(server))
        }
    }

    @Test("requests are limited in number, and without the setting one person suffices")
    func limits() async throws {
        try await InProcessServer.run { server in
            let service = Self.service(server)
            for _ in 0..<PendingRequests.most { _ = try await Self.requestID(by: Self.alice, in: service) }
            let full = await RolesTests.refusal(of: RevokeSolution(), by: Self.alice, in: service)
            #expect(full?.message.contains("requests wait") == true)
            guard case .failed(of: nil, _)? = try await server.record().last?.phase else {
                Issue.record("not on record")
                return
            }
            server.clock.advance(by: .seconds(900))
            _ = try await Self.requestID(by: Self.alice, in: service)
            let single = Self.service(server, AdminRoles(groups: [.security: 703], owner: 600))
            #expect(await RolesTests.refusal(of: RevokeSolution(), by: Self.alice, in: single) == nil)
            #expect(try await Self.isRevoked(server))
        }
    }
}
