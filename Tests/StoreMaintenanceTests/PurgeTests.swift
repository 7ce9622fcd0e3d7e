import Administration
import AuditLog
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Transport
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("Purging wallets that have ended")
struct PurgeTests {
    private static let year: Duration = .seconds(365 * 86_400)

    @Test("a wallet is removed a year after its end, not before; its deletion code is still answered with its end")
    func purge() async throws {
        try await InProcessServer.run { server in
            let (coded, named, kept) = (try await server.wallet(), try await server.wallet(), try await server.wallet())
            let code = try coded.deletionCode.orThrow().characters
            let portal = try await server.endpoint.connect()
            let done = try await portal.call(.revokeWithCode(code), timeout: TestWallet.patience)
            try await server.give(RevokeWallets([named.walletID]))
            server.clock.advance(by: Self.year)
            await server.maintenance.runDuePurge()
            #expect(try await server.store.report(of: coded.walletID) != nil)
            server.clock.advance(by: .seconds(3600))
            await server.maintenance.runDuePurge()
            for wallet in [coded, named] { #expect(try await server.store.report(of: wallet.walletID) == nil) }
            #expect(try await server.store.report(of: kept.walletID) != nil)
            let again = try await (try await server.endpoint.connect())
                .call(.revokeWithCode(code), timeout: TestWallet.patience)
            guard case .revokeWithCode(.revoked(let first)) = done, case .revokeWithCode(.revoked(let second)) = again
            else { throw UnexpectedAnswer(again) }
            #expect(first == second)
            let unknown = try named.deletionCode.orThrow().characters.reversed()
            #expect(await (try server.endpoint.connect()).answer(.revokeWithCode(String(unknown))) != .other("revoked"))
            let entries = try await server.record().filter { $0.event == .purge }
            #expect(
                entries.map(\.subject.wallets) == [
                    [coded.walletID, named.walletID], [coded.walletID, named.walletID],
                ]
            )
            #expect(entries.first?.phase == .begun && entries.allSatisfy { $0.actor == .server })
            // The log records the ends of wallets that the store no longer has, and a start repeats none of them.
            #expect(try await RepeatedChangeTests.start(server, after: server.audit.newest) == [])
        }
    }

    @Test("only the code's digest is left of a purged wallet, and the deny list stays")
    func remains() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let code: RecoveryCode = "NL-1"
            _ = try await wallet.openSession().answer(.linkRecoveryCode(code), pin: "135790")
            try await server.give(RevokeRecoveryCode(code))
            server.clock.advance(by: Self.year + .seconds(1))
            await server.maintenance.runDuePurge()
            #expect(try await server.store.listing(after: nil, limit: 5).isEmpty)
            #expect(try await server.store.sealedValues(after: nil, limit: 5).isEmpty)
            let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex)).orThrow()
            #expect(try await server.store.denied(mac) != nil)
        }
    }

    @Test("a restored backup from before the purge has the wallet as ended")
    func restored() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let backup = try await server.backup("one")
            try await server.give(RevokeWallets([wallet.walletID]))
            server.clock.advance(by: Self.year + .seconds(1))
            await server.maintenance.runDuePurge()
            await server.stop()
            try await server.restore(backup, into: "r")
            let report = try await server.opened("r") { try await $0.report(of: wallet.walletID) }
            #expect(report?.revocation?.reason == .wallet)
        }
    }
}
