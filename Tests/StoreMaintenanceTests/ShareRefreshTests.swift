import Administration
import AuditLog
import ServerTestSupport
import Secrets
import TestSupport
import Testing
import Vocabulary
import Wire

@Suite("Replacing the shares of all wallets")
struct ShareRefreshTests {
    private static func shares(
        _ session: TestSession,
        pin: String = "135790"
    ) async throws -> (current: [UInt8], next: [UInt8]?) {
        guard case .instruct(.pinValid(let share, let next)) = try await session.instruct(pin: pin)
        else { throw Missing() }
        return (share.exposedBytes(), next?.exposedBytes())
    }

    private struct Missing: Error {}

    @Test("a wallet confirms after a valid PIN only; then the old share is never released again")
    func refresh() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            try await server.refreshShares()
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

    @Test("a PIN change sent before a replacement has no effect after it, and one that took effect prevents it")
    func lateChange() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: false))
            try await server.refreshShares()
            let (early, session) = (try await wallet.openSession(), try await wallet.openSession())
            _ = try await Self.shares(session)
            #expect(await session.connection.answer(confirmation) == .other("confirmShares"))
            let late = VerdictSummary(try await early.changePIN(from: "135790", to: "246802"))
            #expect(late == .refused(.sessionRequired))
            #expect(try await early.check("000000").isWrong)
            #expect(VerdictSummary(try await session.changePIN(from: "135790", to: "246802")) == .pinChanged)

            try await server.refreshShares()
            let (other, last) = (try await wallet.openSession(), try await wallet.openSession())
            let offered = try await Self.shares(last, pin: "246802")
            #expect(offered.next != nil)
            #expect(VerdictSummary(try await other.changePIN(from: "246802", to: "975310")) == .pinChanged)
            #expect(await last.connection.answer(confirmation) == .refused(.notAllowed))
            let after = try await Self.shares(try await wallet.openSession(), pin: "975310")
            #expect(after.current == offered.current && after.next == offered.next)
        }
    }

    @Test("a rotation reseals next shares, too, and the wallet confirms the resealed ones")
    func rotation() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await server.refreshShares()
            let before = try await Self.shares(try await wallet.openSession())
            server.clock.advance(by: .seconds(3600))
            try await server.give(RotateVault())
            try await poll { try await server.record().contains { $0.event == .resealed } }
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
