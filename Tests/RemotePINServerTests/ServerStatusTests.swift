import RemotePINServer
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import Wire

@Suite("The status of the server and the lists of wallets and sessions")
struct ServerStatusTests {
    private static func give(_ command: AdminCommand, to server: InProcessServer) async -> AdminResult {
        await server.commands.carryOut(command, by: InProcessServer.peer)
    }

    private static func status(_ server: InProcessServer) async throws -> StatusReport {
        guard case .status(let report) = await self.give(.showStatus, to: server) else { throw UnexpectedAnswer() }
        return report
    }

    private static func list(
        _ filter: WalletFilter = WalletFilter(),
        pageSize: Int = 500,
        of server: InProcessServer
    ) async throws -> [ListedWallet] {
        var wallets: [ListedWallet] = []
        var after: UInt64?
        while true {
            let command = AdminCommand.listWallets(filter, after: after, limit: pageSize)
            guard case .walletPage(let page) = await self.give(command, to: server) else { throw UnexpectedAnswer() }
            #expect(page.wallets.count <= pageSize)
            wallets += page.wallets
            guard let next = page.next else { return wallets }
            after = next
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
            _ = await Self.give(.revokeWallets([revoked.walletID]), to: server)

            let all = try await Self.list(pageSize: 3, of: server)
            let ids = [open, fresh, blocked, revoked].map(\.walletID)
            #expect(all.map(\.walletID) == ids)
            #expect(all.map(\.condition) == [.open, .neverOpened, .blocked, .revoked])
            #expect(all.map(\.failures) == [0, 0, 4, 0])
            #expect(all.map(\.platform) == [.android, .iOS, .android, .android])
            #expect(all[0].lastSession != nil && all[1].lastSession == nil)
            for condition in WalletCondition.allCases {
                let some = try await Self.list(WalletFilter(conditions: [condition]), pageSize: 1, of: server)
                #expect(some == all.filter { $0.condition == condition }, "\(condition)")
            }
            let filters: [(WalletFilter, [Int])] = [
                (WalletFilter(platform: .iOS), [1]), (WalletFilter(registeredFrom: later), [2, 3]),
                (WalletFilter(registeredBefore: later), [0, 1]),
                (WalletFilter(conditions: [.open, .blocked], registeredFrom: later), [2]),
            ]
            for (filter, wanted) in filters {
                #expect(try await Self.list(filter, of: server).map(\.walletID) == wanted.map { ids[$0] }, "\(filter)")
            }
            let status = try await Self.status(server)
            #expect(WalletCondition.allCases.map { status.wallets[$0] } == [1, 1, 0, 1, 1])
            #expect(status.pins == StatusReport.PINCounts(valid: 0, wrong: 4, blocked: 0))
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
            var status = try await Self.status(server)
            #expect(status.version == "test" && status.now == server.clock.now() && status.uptime > .zero)
            #expect(status.sessions == 1 && status.connections >= 2)
            #expect(status.pins == StatusReport.PINCounts(valid: 1, wrong: 0, blocked: 0))
            #expect(status.commits.count > 0 && status.commits.median > .zero)
            #expect(status.commits.median <= status.commits.p99)
            #expect(status.keyVersions == [1] && status.activeKeyVersion == 1)
            #expect(status.certificateExpiresAt == Timestamp(milliseconds: 9_000_000_000_000))
            #expect(status.statusListFetchedAt == Timestamp(milliseconds: 0))
            #expect(status.auditNumber + 1 == UInt64(try await server.record().count) && !status.isSolutionRevoked)
            idle.close()
            session.connection.close()
            await session.connection.closed()
            _ = await Self.give(.revokeSolution, to: server)
            status = try await Self.status(server)
            #expect(status.isSolutionRevoked)
        }
    }

    @Test("open sessions are listed with their source, version and number of instructions, page by page")
    func sessions() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            _ = try await first.check("135790")
            _ = try await first.check("135790")
            guard case .sessionPage(let page) = await Self.give(.listSessions(after: nil, limit: 1), to: server),
                let listed = page.sessions.first,
                case .sessionPage(let rest) = await Self.give(
                    .listSessions(after: listed.connection, limit: 500),
                    to: server
                )
            else { throw UnexpectedAnswer() }
            #expect(page.hasMore && !rest.hasMore && rest.sessions.count == 1)
            #expect(listed.walletID == wallet.walletID && listed.instructions == 2 && listed.source == "127.0.0.1")
            #expect(listed.since == server.clock.now() && listed.platform == .android)
            #expect(rest.sessions[0].instructions == 0 && rest.sessions[0].connection > listed.connection)
            second.connection.close()
            #expect(
                await eventually {
                    guard
                        case .sessionPage(let page) = await Self.give(.listSessions(after: nil, limit: 9), to: server)
                    else { return false }
                    return page.sessions.count == 1
                }
            )
        }
    }
}
