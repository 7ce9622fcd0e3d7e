import AdminProtocol
import AuditLog
import HostSystem
import SQLiteClient
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Vault
import Vocabulary
@testable import Administration
@testable import WalletStore

@Suite("Wallets with a sealed value that cannot be read or opened")
struct DamagedWalletsTests {
    @Test(
        "a restore names the damaged wallets, ends them on request and on record, and restores all others",
        arguments: [40, 3, nil]
    )
    func restored(place: Int?) async throws {
        try await InProcessServer.run { server in
            var wallets: [TestWallet] = []
            for _ in 0..<3 { wallets.append(try await server.wallet()) }
            try await VaultHistory.check(server.vault, of: server.store, at: server.clock.now())
            let damaged = wallets[1].walletID
            if let place {
                try await server.damage(wallets[1], at: place)
            } else {
                try await server.damagePINKey(of: wallets[1])
            }
            let backup = try await server.backup("one")
            await server.stop()
            let refused = await #expect(throws: RestoreFailure.damagedWallets([damaged])) {
                try await server.restore(backup, into: "refused")
            }
            let told = "\(try refused.orThrow())"
            #expect(told.contains("\(damaged)") && told.contains("--end-damaged"))
            #expect(!DurableFile.exists("\(server.folder.path)/refused/wallets.db"))
            let report = try await server.restoration(backup, into: "one", endsDamaged: true).run()
            #expect(report.damaged == [damaged] && report.wallets == 3 && report.replayed.ended == 0)
            try await server.opened("one") { store in
                var ends: [Revocation?] = []
                for wallet in wallets { ends.append(try await store.report(of: wallet.walletID)?.revocation) }
                #expect(ends == [nil, Revocation(reason: .wallet, mayRegisterAnew: true), nil])
            }
            let entries = try await server.record().filter { $0.subject.wallets == [damaged] }
            #expect(entries.map(\.event) == [.revokeWallets, .revokeWallets])
            // The end is on record now, and every later restore repeats it.
            let again = try await server.restore(backup, into: "again")
            #expect(again.damaged.isEmpty && again.replayed.ended == 1)
        }
    }

    /// Restores a backup into `one`, after a restore that ends no damaged wallet was refused.
    private static func restore(_ server: InProcessServer, ending wallet: WalletID) async throws {
        let backup = try await server.backup("one")
        await server.stop()
        await #expect(throws: RestoreFailure.damagedWallets([wallet])) {
            try await server.restore(backup, into: "refused")
        }
        let report = try await server.restoration(backup, into: "one", endsDamaged: true).run()
        #expect(report.damaged == [wallet])
    }

    @Test("a restore names a wallet whose attempt record was altered, and ends it on request")
    func alteredRecord() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            for each in [wallet, other] { _ = try await each.openSession() }
            try await server.store.alterRecord(of: wallet.walletID)
            #expect(try await server.give(ShowWallet(wallet.walletID)).state == .damaged)
            #expect(try await server.give(ListWallets(states: [.damaged])).wallets.map(\.wallet) == [wallet.walletID])
            try await Self.restore(server, ending: wallet.walletID)
            try await server.opened("one") { store in
                try await #expect(store.report(of: other.walletID)?.revocation == nil)
                try await #expect(store.report(of: wallet.walletID)?.revocation != nil)
            }
        }
    }

    @Test("a restore names a wallet that cannot be read, and removes it on request and on record")
    func unreadable() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            try await server.store.alterState(of: wallet.walletID)
            try await Self.restore(server, ending: wallet.walletID)
            try await server.opened("one") { store in
                try await #expect(store.listing(after: nil, limit: 9).map(\.walletID) == [other.walletID])
            }
            let entries = try await server.record().filter { $0.subject.wallets == [wallet.walletID] }
            #expect(entries.map(\.event) == [.revokeWallets, .revokeWallets])
        }
    }

    @Test("a damaged value of an ended wallet does not prevent a restore")
    func ended() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            _ = try await server.wallet()
            try await server.damage(wallet)
            try await server.give(RevokeWallets([wallet.walletID]))
            let backup = try await server.backup("one")
            await server.stop()
            #expect(try await server.restore(backup, into: "one").damaged.isEmpty)
        }
    }

    @Test(
        "a rotation names the wallets that delay it and completes after their revocation; then old keys are retired",
        arguments: [true, false]
    )
    func rotated(isReadable: Bool) async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            if isReadable {
                try await server.damage(wallet)
            } else {
                try await server.store.alterState(of: wallet.walletID)
            }
            server.clock.advance(by: .seconds(3600))
            try await server.give(RotateVault())
            server.clock.advance(by: .seconds(3600))
            var refused: AdminFailure?
            for _ in 0..<10_000 {
                refused = await server.refusal(of: RotateVault())
                if refused?.message.contains("\(wallet.walletID)") == true { break }
                await Task.yield()
            }
            #expect(refused?.message.contains("revoke wallet") == true, "\(refused?.message ?? "")")
            let kept = await server.refusal(of: RetireVault())
            #expect(kept?.message.contains("\(wallet.walletID)") == true, "\(kept?.message ?? "")")
            #expect(kept?.message.contains("seals 4 values") == isReadable && server.vault.versions == [1, 2])
            #expect(kept?.message.contains("revoke wallet") == true, "\(kept?.message ?? "")")

            try await server.give(RevokeWallets([wallet.walletID]))
            let next = server.makeMaintenance()
            async let _: Void = next.run()
            var isFinished = false
            for _ in 0..<10_000 where !isFinished {
                isFinished = try await server.record().contains { $0.event == .resealed }
                await Task.yield()
            }
            #expect(isFinished)
            let left = try await server.give(RetireVault()).versions
            #expect(left.map(\.version) == [2] && server.vault.versions == [2])
            #expect(try await other.openSession().check("135790") == other.unlockShare.asValid)
            // The old key is not needed, not even for a restore with the remaining key.
            let shown = try await server.give(ShowVaultKeys()).versions
            #expect(shown.map(\.version) == [2])
            let backup = try await server.backup("one")
            await server.stop()
            #expect(try await server.restore(backup, into: "one").wallets == (isReadable ? 2 : 1))
        }
    }
}

extension SQLiteWalletStore {
    /// Flips a bit of the wallet's attempt record, as a faulty disk does.
    func alterRecord(of wallet: WalletID) async throws {
        try await self.queue.perform { connection in
            guard let found = try connection.attempted(wallet) else { throw StoreError.corrupt }
            var bytes = found.onFile
            bytes[3] ^= 1
            let key = found.wallet.row.key.number
            try connection.db.run("UPDATE attempts SET record = ? WHERE wallet = ?", [.bytes(bytes), .number(key)])
            connection.known.forgetAll()
        }
    }

    /// Alters the wallet's state so that it does not decode.
    func alterState(of wallet: WalletID) async throws {
        let change = "UPDATE wallets SET state = zeroblob(24) WHERE id = ?"
        _ = try await self.queue.perform { try $0.db.run(change, [.bytes(wallet.bytes)]) }
    }
}
