import Administration
import AdminProtocol
import AuditLog
import SimulatedPhone
import HostSystem
import RemotePINServer
import Secrets
import ServerTestSupport
import StoreMaintenance
import Testing
import TestSupport
import Transport
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("Rotating the vault's keys")
struct RotationTests {
    /// Waits until all values are sealed with this version.
    private static func isSealed(_ server: InProcessServer, with version: UInt32) async -> Bool {
        for _ in 0..<100_000 {
            let result = try? await server.record().last { $0.event == .resealed }?.phase
            if case .done(of: nil, let text)? = result, text.hasPrefix("version \(version),") { return true }
            await Task.yield()
        }
        return false
    }

    private static func versions(_ server: InProcessServer) async throws -> [VaultKeysReply.Version] {
        try await server.give(ShowVaultKeys()).versions
    }

    @Test("after two rotations under open sessions every PIN, code and token works, and the old keys can be retired")
    func rotations() async throws {
        try await InProcessServer.run { server in
            var wallets: [TestWallet] = []
            for _ in 0..<40 { wallets.append(try await server.wallet()) }
            let code: RecoveryCode = "NL-1"
            _ = try await wallets[5].openSession().answer(.linkRecoveryCode(code), pin: "135790")
            try await server.give(RevokeWallets([wallets[39].walletID]))
            for version: UInt32 in [2, 3] {
                server.clock.advance(by: .seconds(3600))
                let session = try await wallets[0].openSession()
                let token = try await Self.token(server)
                try await server.give(RotateVault())
                #expect(try await session.check("135790") == wallets[0].unlockShare.asValid)
                #expect(await Self.isSealed(server, with: version))
                #expect(try await session.check("135790") == wallets[0].unlockShare.asValid)
                #expect(try await Self.registers(token, server))
                let keys = try await Self.versions(server)
                for key in keys where !key.active { #expect(key.values == 0 && !key.retirable) }
                // 39 wallets with four values each, the identity of the ended one, and the new
                // registrations.
                let sealed = 39 * 4 + 1 + 4 * Int(version - 1)
                #expect(keys.last?.values == sealed)
            }
            for wallet in wallets.dropLast() {
                let session = try await wallet.openSession()
                #expect(try await session.check("000000") != wallet.unlockShare.asValid)
                #expect(try await session.check("135790") == wallet.unlockShare.asValid)
                session.connection.close()
            }
            try await server.give(RevokeRecoveryCode(code))
            #expect(try await server.store.report(of: wallets[5].walletID)?.revocation?.reason == .recoveryCode)
            let portal = try await server.endpoint.connect()
            let text = try wallets[6].deletionCode.orThrow().characters
            #expect(await portal.answer(.revokeWithCode(text)) == .other("revoked"))
            #expect(await server.refusal(of: RetireVault()) != nil)
            server.clock.advance(by: .seconds(3600))
            let left = try await server.give(RetireVault()).versions
            #expect(left.map(\.version) == [3] && server.vault.versions == [3])
            #expect(try DurableFile.mode(of: "\(server.folder.path)/vault.key") == 0o600)
            for wallet in [wallets[0], wallets[20]] {
                #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
            }
            let events = Set(try await server.record().map(\.event))
            #expect(events.isSuperset(of: [.rotateVault, .resealed, .retireVault]))
        }
    }

    @Test("a second rotation is rejected while tokens from before the first are valid: no key would accept them")
    func twice() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            server.clock.advance(by: .seconds(3600))
            try await server.give(RotateVault())
            #expect(await Self.isSealed(server, with: 2))
            let token = try await Self.token(server)
            let refused = await server.refusal(of: RotateVault())
            #expect(refused?.kind == .notAllowed && refused?.message.contains("2026-") == true)
            // The rotation was not done, and the record does not call it unclear.
            guard case .failed(of: _?, _) = try await server.record().last?.phase else {
                Issue.record("a rejection is on record as unclear")
                return
            }
            let early = await server.refusal(of: RetireVault())
            #expect(early?.message.contains("until 2026-") == true, "\(early?.message ?? "")")
            #expect(try await Self.registers(token, server))
            #expect(server.vault.versions == [1, 2])
        }
    }

    @Test("old keys stay until every enrollment and every session from before the rotation has ended")
    func retirement() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            server.clock.advance(by: .seconds(3600))
            try await server.give(RotateVault())
            #expect(await Self.isSealed(server, with: 2))
            let rules = ServiceRules()
            server.clock.advance(by: rules.tokenLifetime + rules.sessionLifetime + .seconds(59))
            #expect(await server.refusal(of: RetireVault())?.message.contains("sessions") == true)
            #expect(server.vault.versions == [1, 2])
            server.clock.advance(by: .seconds(1))
            #expect(try await server.give(RetireVault()).versions.map(\.version) == [2])
            #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("a server does not start with a key file from before a rotation or with another key of the same number")
    func otherKeyFiles() async throws {
        try await InProcessServer.run { server in
            _ = try await server.wallet()
            let path = "\(server.folder.path)/vault.key"
            let now = server.clock.now()
            let copy = try DurableFile.read(path, atMost: 1 << 16)
            try await VaultHistory.check(server.vault, of: server.store, at: now)
            try await server.give(RotateVault())
            #expect(await Self.isSealed(server, with: 2))
            let newest = try DurableFile.read(path, atMost: 1 << 16)
            try await VaultHistory.check(KeyFileVault(path), of: server.store, at: now)
            try DurableFile.write(copy, to: path)
            await #expect(throws: VaultMismatch.older(file: 1, store: 2)) {
                try await VaultHistory.check(KeyFileVault(path), of: server.store, at: now)
            }
            // A rotation of the old copy creates another key 2, with which no value is sealed.
            _ = try await KeyFileVault(path).addVersion(activating: true)
            let check = try server.vault.check(of: 2).orThrow().hex
            for _ in 0..<2 {
                await #expect(throws: VaultMismatch.otherKey(2, check: check)) {
                    try await VaultHistory.check(KeyFileVault(path), of: server.store, at: now)
                }
                _ = try await KeyFileVault(path).addVersion(activating: true)
            }
            try DurableFile.write(newest, to: path)
            try await VaultHistory.check(KeyFileVault(path), of: server.store, at: now)
            #expect(String(decoding: newest, as: UTF8.self).contains(" \(check)\n"))
        }
    }

    @Test("a version that seals a value and is missing from the key file is shown and never retired")
    func missing() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let foreign = "\(server.folder.path)/foreign.key"
            try KeyFileVault.create(at: foreign)
            for _ in 0..<4 { _ = try await KeyFileVault(foreign).addVersion(activating: true) }
            let before = try await server.store.sealedValues(after: nil, limit: 1)[0].values
            var after = before
            let facts = try server.vault.openIdentity(before.identity, of: wallet.walletID).facts
            let layers = LayeredIdentity(decoy: facts, version: 5)
            after.identity = try await KeyFileVault(foreign).sealIdentity(layers, of: wallet.walletID)
            let replacement = SealedReplacement(walletID: wallet.walletID, old: before, new: after)
            try await server.store.replace([replacement])
            let keys = try await Self.versions(server)
            #expect(keys.map(\.version) == [1, 5] && keys[1].values == 1)
            #expect(!keys[1].retirable && !keys[1].active)
        }
    }

    @Test("an interrupted rotation continues at the next start, and a value written meanwhile is kept")
    func interrupted() async throws {
        try await InProcessServer.run { server in
            var wallets: [TestWallet] = []
            for _ in 0..<20 { wallets.append(try await server.wallet()) }
            let before = try await server.store.sealedValues(after: nil, limit: 50)
            // The state that a server leaves if it stops between writing the key file and the first
            // pass.
            _ = try await server.vault.addVersion(activating: true)
            let changed = try await wallets[3].openSession().changePIN(from: "135790", to: "246813")
            guard case .instruct(.pinChanged) = changed else { throw UnexpectedAnswer(changed) }
            // A pass that reads before the change of the PIN and writes after it.
            let stale = SealedReplacement(walletID: before[3].walletID, old: before[3].values, new: before[3].values)
            let present = try await server.store.sealedValues(after: nil, limit: 50)
            try await server.store.replace([stale])
            #expect(try await server.store.sealedValues(after: nil, limit: 50) == present)
            let next = server.makeMaintenance()
            async let _: Void = next.run()
            for _ in 0..<3000 {
                let keys = try await Self.versions(server)
                if keys.first?.values == 0 { break }
                await Task.yield()
            }
            #expect(try await Self.versions(server).first?.values == 0)
            #expect(try await wallets[3].openSession().check("246813") == wallets[3].unlockShare.asValid)
            #expect(try await wallets[4].openSession().check("135790") == wallets[4].unlockShare.asValid)
        }
    }

    /// A begun enrollment.
    private static func token(_ server: InProcessServer) async throws -> BegunEnrollment {
        let connection = try await server.endpoint.greet(.android)
        let result = try await connection.call(.beginEnrollment, timeout: TestWallet.patience)
        guard case .beginEnrollment(let enrollment) = result else { throw UnexpectedAnswer(result) }
        return BegunEnrollment(enrollment: enrollment, connection: connection)
    }

    private static func registers(_ begun: BegunEnrollment, _ server: InProcessServer) async throws -> Bool {
        let call = try await TestWallet.registration(
            of: try server.device(DeviceProfile(.android)),
            begun.enrollment,
            pair: TestWallet.PINPair(),
            pin: "135790",
            on: begun.connection
        )
        let result = try await begun.connection.call(.register(call), timeout: TestWallet.patience)
        if case .register = result { return true }
        return false
    }

    private struct BegunEnrollment {
        let enrollment: Enrollment
        let connection: ClientConnection
    }
}
