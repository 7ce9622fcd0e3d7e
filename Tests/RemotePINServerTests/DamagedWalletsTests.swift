import AuditLog
import Logging
import RemotePINServer
import TestSupport
import Testing
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("Wallets for which something is sealed that does not open")
struct DamagedWalletsTests {
    private static func give(_ command: AdminCommand, to server: InProcessServer) async throws -> AdminResult {
        let result = await server.commands.carryOut(command, by: InProcessServer.peer)
        if case .failed(let failure) = result { throw failure }
        return result
    }

    private static func refusal(of command: AdminCommand, by server: InProcessServer) async -> AdminFailure? {
        guard case .failed(let failure) = await server.commands.carryOut(command, by: InProcessServer.peer) else {
            return nil
        }
        return failure
    }

    @Test(
        "a rotation that they hold up names them, and goes on to its end once they are revoked; then keys are retired"
    )
    func rotated() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            try await server.damage(wallet)
            server.clock.advance(by: .seconds(3600))
            _ = try await Self.give(.rotateVault, to: server)
            server.clock.advance(by: .seconds(3600))
            var refused: AdminFailure?
            for _ in 0..<10_000 {
                refused = await Self.refusal(of: .rotateVault, by: server)
                if refused?.sentence.contains("\(wallet.walletID)") == true { break }
                await Task.yield()
            }
            #expect(refused?.sentence.contains("revoke wallet") == true, "\(refused?.sentence ?? "")")
            let kept = await Self.refusal(of: .retireVault, by: server)
            #expect(kept?.sentence.contains("\(wallet.walletID)") == true, "\(kept?.sentence ?? "")")
            #expect(kept?.sentence.contains("seals 4 values") == true && server.vault.versions == [1, 2])

            _ = try await Self.give(.revokeWallets([wallet.walletID]), to: server)
            let log = server.log.handler
            let next = Upkeep(
                Upkeep.Parts(
                    store: server.store,
                    vault: server.vault,
                    clock: server.clock,
                    audit: server.audit,
                    epoch: 1,
                    tokenLifetime: .seconds(300),
                    log: Logger(label: "test") { _ in log }
                )
            )
            async let _: Void = next.run()
            var isFinished = false
            for _ in 0..<10_000 where !isFinished {
                isFinished = try await server.record().contains { $0.event == .resealed }
                await Task.yield()
            }
            #expect(isFinished)
            guard case .vaultKeys(let left) = try await Self.give(.retireVault, to: server) else {
                throw UnexpectedAnswer()
            }
            #expect(left.map(\.version) == [2] && server.vault.versions == [2])
            #expect(try await other.openSession().check("135790") == other.unlockShare.asValid)
            // Nothing of it is missed.
            guard case .vaultKeys(let shown) = try await Self.give(.showVaultKeys, to: server) else {
                throw UnexpectedAnswer()
            }
            #expect(shown.map(\.version) == [2])
        }
    }
}
