import AdminProtocol
import Administration
import HostSystem
import RemotePINServer
import ServerTestSupport
import StoreMaintenance
import TestSupport
import Testing
import Vault
import WalletStore

@Suite("Maintenance of a store that several servers use")
struct SharedMaintenanceTests {
    private let lease = TestLease()
    private var options: InProcessServer.Options {
        var options = InProcessServer.Options()
        options.lease = self.lease
        return options
    }

    @Test("a new version of the vault's keys seals once every server has it, and the command names those without it")
    func rotation() async throws {
        try await InProcessServer.run(self.options) { server in
            let first = await server.refusal(of: RotateVault())
            #expect(first?.message.contains("these servers lack it: there") == true, "\(first?.message ?? "none")")
            #expect((server.vault.activeVersion, server.vault.versions) == (1, [1, 2]))
            #expect(await server.refusal(of: RotateVault()) != nil, "the same version is waiting")
            #expect(server.vault.versions == [1, 2])
            self.lease.set(vaultKeys: [try server.vault.name(of: 2).orThrow()])
            #expect(try await server.give(RotateVault()).version == 2)
            #expect(server.vault.activeVersion == 2)
        }
    }

    @Test("a server uses a version that another one has activated, at its start at the latest")
    func following() async throws {
        try await InProcessServer.run(self.options) { server in
            let version = try await server.vault.addVersion(activating: false)
            let check = try server.vault.check(of: version).orThrow()
            let now = server.clock.now()
            _ = try await server.store.note(vaultVersion: version, check: check, at: now)
            #expect(server.vault.activeVersion == 1)
            try await VaultHistory.check(server.vault, of: server.store, at: now)
            #expect(server.vault.activeVersion == version)
        }
    }

    @Test("a server that cannot use the version activated by another one registers no wallets; existing ones unlock")
    func behind() async throws {
        try await InProcessServer.run(self.options) { server in
            let (wallet, path) = (try await server.wallet(), "\(server.folder.path)/vault.key")
            let version = try await server.vault.addVersion(activating: false)
            let check = try server.vault.check(of: version).orThrow()
            _ = try await server.store.note(vaultVersion: version, check: check, at: server.clock.now())
            let file = try DurableFile.read(path, atMost: 1 << 16)
            try DurableFile.write(file, to: path, mode: 0o644)
            let maintenance = server.makeMaintenance(lease: self.lease)
            await maintenance.runDueWork()
            _ = try await server.wallet()
            server.clock.advance(by: ServiceRules().tokenLifetime)
            await maintenance.runDueWork()
            await #expect(throws: (any Error).self) { try await server.wallet() }
            #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
            try DurableFile.write(file, to: path, mode: 0o600)
            await maintenance.runDueWork()
            #expect(server.vault.activeVersion == version)
            _ = try await server.wallet()
        }
    }

    @Test("a server without the maintenance rejects commands for the whole store, and names the server that has it")
    func turns() async throws {
        self.lease.set(hasMaintenance: false)
        try await InProcessServer.run(self.options) { server in
            for refusal in [await server.refusal(of: RotateVault()), await server.refusal(of: RetireVault())] {
                #expect(refusal?.message.contains("maintenance: there") == true, "\(refusal?.message ?? "none")")
            }
            #expect(await server.refusal(of: RefreshShares()) != nil)
            #expect(server.vault.versions == [1])
        }
    }

    @Test("a server without the maintenance purges nothing, reseals nothing and makes no next shares")
    func dueWork() async throws {
        self.lease.set(hasMaintenance: false)
        try await InProcessServer.run(self.options) { server in
            let (ended, kept) = (try await server.wallet(), try await server.wallet())
            try await server.give(RevokeWallets([ended.walletID]))
            server.clock.advance(by: .seconds(366 * 86_400))
            _ = try await server.vault.addVersion(activating: true)
            try await server.store.beginShareRefresh(at: server.clock.now())
            let maintenance = server.makeMaintenance(lease: self.lease)
            for hasMaintenance in [false, true] {
                self.lease.set(hasMaintenance: hasMaintenance)
                await maintenance.runDueWork()
                await maintenance.runDueReseal()
                try await #expect((server.store.report(of: ended.walletID) == nil) == hasMaintenance)
                let identity = try await server.store.identity(of: kept.walletID).orThrow().identity
                #expect(server.vault.keyVersion(of: identity) == (hasMaintenance ? 2 : 1))
                try await #expect((server.store.walletsToRefresh(limit: 1) == nil) == hasMaintenance)
            }
        }
    }
}
