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
                "log-level",
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
