import Administration
import AuditLog
import ServerTestSupport
import Secrets
import StoreMaintenance
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("Replacing the shares of all wallets")
struct ShareRefreshTests {
    private static func isOffered(_ server: InProcessServer) async -> Bool {
        for _ in 0..<100_000 {
            let record = try? await server.record()
            if record?.contains(where: { $0.event == .sharesOffered }) == true { return true }
            await Task.yield()
        }
        return false
    }

    private static func shares(_ session: TestSession) async throws -> (current: [UInt8], next: [UInt8]?) {
        guard case .instruct(.pinValid(let share, let next)) = try await session.instruct(pin: "135790")
        else { throw Missing() }
        return (share.exposedBytes(), next?.exposedBytes())
    }

    private struct Missing: Error {}

    @Test("a wallet confirms after a valid PIN only; then the old share is never released again")
    func refresh() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            try await server.give(RefreshShares())
            #expect(await Self.isOffered(server))
            #expect(try await server.give(ShowStatus()).sharesToReplace == 2)
            let thief = try await wallet.openSession()
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: true))
            #expect(await thief.connection.answer(confirmation) == .refused(.notAllowed))
            let session = try await wallet.openSession()
            let (current, next) = try await Self.shares(session)
            #expect(current == wallet.unlockShare.exposedBytes() && next != nil)
            #expect(await session.connection.answer(confirmation) == .other("confirmShares"))
            #expect(await session.connection.answer(confirmation) == .refused(.notAllowed))
            #expect(try await Self.shares(session).current == next)
            let later = try await Self.shares(try await wallet.openSession())
            #expect(later.current == next && later.next == nil)
            #expect(try await server.give(ShowStatus()).sharesToReplace == 1)
            #expect(try await Self.shares(try await other.openSession()).current == other.unlockShare.exposedBytes())
        }
    }

    @Test("a rotation reseals next shares, too, and the wallet confirms the resealed ones")
    func rotation() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await server.give(RefreshShares())
            #expect(await Self.isOffered(server))
            let before = try await Self.shares(try await wallet.openSession())
            server.clock.advance(by: .seconds(3600))
            try await server.give(RotateVault())
            while try await server.record().contains(where: { $0.event == .resealed }) == false { await Task.yield() }
            #expect(try await server.give(ShowVaultKeys()).versions.map(\.values) == [0, 6])
            let session = try await wallet.openSession()
            let after = try await Self.shares(session)
            #expect(after.current == before.current && after.next == before.next)
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: true))
            #expect(await session.connection.answer(confirmation) == .other("confirmShares"))
            #expect(try await Self.shares(session).current == before.next)
        }
    }
}
