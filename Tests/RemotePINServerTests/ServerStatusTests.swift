import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary

@testable import Administration

@Suite("The status of the server and the lists of wallets and sessions")
struct ServerStatusTests {
    /// All pages of a list.
    private static func list(_ call: ListWallets, of server: InProcessServer) async throws -> [ListWallets.Wallet] {
        var (call, wallets): (ListWallets, [ListWallets.Wallet]) = (call, [])
        while true {
            let page = try await server.give(call)
            #expect(page.wallets.count <= call.limit)
            wallets += page.wallets
            guard page.hasMore else { return wallets }
            call.after = page.next
        }
    }

    @Test("wallets are counted and listed by their states and found by every filter")
    func wallets() async throws {
        try await InProcessServer.run { server in
            let open = try await server.wallet()
            _ = try await open.openSession()
            let fresh = try await server.wallet(.iOS)
            server.clock.advance(by: .seconds(10))
            let later = server.clock.now()
            let blocked = try await server.wallet()
            let session = try await blocked.openSession()
            for _ in 0..<4 { _ = try await session.check("000000") }
            let revoked = try await server.wallet()
            try await server.give(RevokeWallets([revoked.walletID]))

            let all = try await Self.list(ListWallets(limit: 3), of: server)
            let ids = [open, fresh, blocked, revoked].map(\.walletID)
            #expect(all.map(\.wallet) == ids)
            #expect(all.map(\.state) == [.open, .neverOpened, .blocked, .revoked])
            #expect(all.map(\.failures) == [0, 0, 4, 0])
            #expect(all.map(\.platform) == [.android, .iOS, .android, .android])
            #expect(all[0].lastSession != nil && all[1].lastSession == nil)
            for condition in WalletCondition.allCases {
                let some = try await Self.list(ListWallets(states: [condition], limit: 1), of: server)
                #expect(some == all.filter { $0.state == condition }, "\(condition)")
            }
            let filters: [(ListWallets, [Int])] = [
                (ListWallets(platform: .iOS), [1]), (ListWallets(registeredFrom: later), [2, 3]),
                (ListWallets(registeredBefore: later), [0, 1]),
                (ListWallets(states: [.open, .blocked], registeredFrom: later), [2]),
            ]
            for (call, wanted) in filters {
                #expect(try await Self.list(call, of: server).map(\.wallet) == wanted.map { ids[$0] }, "\(call)")
            }
            let status = try await server.give(ShowStatus())
            #expect(WalletCondition.allCases.map { status.wallets[$0] } == [1, 1, 0, 1, 1, 0])
            #expect([status.pins.valid, status.pins.wrong, status.pins.blocked] == [0, 4, 0])
        }
    }

    @Test("the status holds connections, sessions, PINs, commits, keys and the audit log's newest entry")
    func status() async throws {
        var options = InProcessServer.Options()
        options.usesStatusList = true
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            let idle = try await server.endpoint.greet()
            var status = try await server.give(ShowStatus())
            #expect(status.version == "test" && status.now == server.clock.now() && status.uptimeMs > 0)
            #expect(status.sessions == 1 && status.connections >= 2)
            #expect([status.pins.valid, status.pins.wrong, status.pins.blocked] == [1, 0, 0])
            #expect(status.commits.count > 0 && status.commits.medianUs > 0)
            #expect(status.commits.medianUs <= status.commits.p99Us)
            #expect(status.vaultKeys.versions == [1] && status.vaultKeys.active == 1)
            #expect(status.certificateExpiresAt == Timestamp(milliseconds: 9_000_000_000_000))
            #expect(status.statusList?.fetchedAt == Timestamp(milliseconds: 0))
            #expect(status.audit.number + 1 == UInt64(try await server.record().count) && !status.solutionRevoked)
            idle.close()
            session.connection.close()
            await session.connection.closed()
            try await server.give(RevokeSolution())
            status = try await server.give(ShowStatus())
            #expect(status.solutionRevoked)
        }
    }

    @Test("open sessions are listed with their source, version and number of instructions, page by page")
    func sessions() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            _ = try await first.check("135790")
            _ = try await first.check("135790")
            let page = try await server.give(ListSessions(limit: 1))
            let listed = try page.sessions.first.orThrow()
            let rest = try await server.give(ListSessions(after: listed.connection))
            #expect(page.hasMore && !rest.hasMore && rest.sessions.count == 1)
            #expect(listed.wallet == wallet.walletID && listed.instructions == 2 && listed.source == "127.0.0.1")
            #expect(listed.since == server.clock.now() && listed.platform == .android)
            #expect(rest.sessions[0].instructions == 0 && rest.sessions[0].connection > listed.connection)
            second.connection.close()
            #expect(
                await eventually {
                    (try? await server.give(ListSessions(limit: 9)))?.sessions.count == 1
                }
            )
        }
    }
}
