import Administration
import ServerTestSupport
import SimulatedPhone
import Statements
import StoreMaintenance
import Synchronization
import TestSupport
import Testing
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("A server with its roots in a module")
struct ModuleTests {
    /// The server's module, once its vault was opened.
    private final class ModuleUnderTest: Sendable {
        private let made = Mutex<FakeModule?>(nil)
        var daemon: FakeModule {
            get throws { try self.made.withLock { $0 }.orThrow() }
        }

        func options(timeLimit: Duration = .seconds(5)) -> InProcessServer.Options {
            var options = InProcessServer.Options()
            options.openingVault = { path in
                let daemon = try FakeModule(at: path + ".socket", rootsOf: path)
                try await daemon.start()
                self.made.withLock { $0 = daemon }
                let module = ModuleKeys(socket: daemon.path, timeLimit: timeLimit)
                return try await KeyFileVault(path, module: module)
            }
            return options
        }
    }

    private let module = ModuleUnderTest()

    private static func isUnavailable(_ answer: VerdictSummary) -> Bool {
        if case .refused(.unavailable) = answer { true } else { false }
    }

    /// The codes that something needs, by their keys.
    private func codes(_ body: () async throws -> Void) async throws -> [String] {
        let before = try self.module.daemon.requestedLabels.count
        try await body()
        return Array(try self.module.daemon.requestedLabels.dropFirst(before))
    }

    @Test("a registration and a session cost one code each; instructions, confirmations and strangers cost none")
    func codes() async throws {
        try await InProcessServer.run(self.module.options()) { server in
            // The open connection is checked before its first use.
            let wallet = try await server.wallet()
            #expect(try await self.codes { _ = try await server.wallet() } == ["key-1"])
            try await server.refreshShares()
            let session = try await wallet.openSession()
            #expect(try await self.codes { _ = try await wallet.openSession() } == ["key-1"])
            let others = try await self.codes {
                #expect(try await session.check("000000").isWrong)
                #expect(try await session.check("135790").isValid)
                let confirmation = Call.confirmShares(ConfirmShares(unlock: true, presence: true))
                #expect(await session.connection.answer(confirmation) == .other("confirmShares"))
                #expect(VerdictSummary(try await session.changePIN(from: "135790", to: "246802")) == .pinChanged)
                let stranger = try server.device(wallet.device.profile)
                _ = try await stranger.createKey(challenge: .of([]))
                for walletID in [wallet.walletID, .random()] {
                    let connection = try await server.endpoint.greet()
                    let call = try await TestWallet.sessionCall(of: stranger, walletID, on: connection)
                    #expect(await connection.answer(.openSession(call)) == .refused(.authenticationFailed))
                }
            }
            #expect(others.isEmpty)
        }
    }

    @Test("while the module is away or hangs, no session opens and nothing is judged; sessions go on, and it recovers")
    func away() async throws {
        try await InProcessServer.run(self.module.options(timeLimit: .seconds(2))) { server in
            let (wallet, daemon) = (try await server.wallet(), try self.module.daemon)
            let session = try await wallet.openSession()
            for stops in [true, false] {
                if stops { try await daemon.stop() } else { daemon.fail(.held) }
                for _ in 0..<4 {
                    let connection = try await server.endpoint.greet()
                    let call = try await wallet.sessionCall(on: connection)
                    #expect(Self.isUnavailable(await connection.answer(.openSession(call))))
                    await #expect(throws: (any Error).self) { try await server.wallet() }
                    #expect(try await session.check("000000").isWrong)
                    #expect(try await session.check("135790") == wallet.unlockShare.asValid)
                }
                #expect(server.vault.problem != nil)
                daemon.recover()
                if stops { try await daemon.start() }
                try await poll { server.vault.problem == nil }
                #expect(try await server.pinState(wallet) == .open(attemptsLeft: 4, finalRound: false))
            }
        }
    }

    @Test("resealing waits while the module does not answer, and continues with the same wallet")
    func resealing() async throws {
        try await InProcessServer.run(self.module.options()) { server in
            for _ in 0..<10 { _ = try await server.wallet() }
            _ = try await server.vault.addVersion(activating: true)
            // The open connection is checked for the new version first.
            _ = try await server.vault.keys(of: .random(), opening: [])
            try self.module.daemon.fail(.closeBeforeAnswer, times: 1)
            await server.makeMaintenance().runDueReseal()
            let values = try await server.store.sealedValues(after: nil, limit: 10).map(\.values)
            #expect(values.allSatisfy { server.vault.keyVersion(of: $0.identity) == 2 })
        }
    }

    @Test("a rotation into the module reseals all values, and an outdated session needs its new key before a verdict")
    func rotation() async throws {
        try await InProcessServer.run(self.module.options()) { server in
            let (wallet, daemon) = (try await server.wallet(), try self.module.daemon)
            let session = try await wallet.openSession()
            try await server.give(RotateVault())
            #expect(server.vault.isInModule(2) == true)
            let resealed = await eventually {
                let values = try? await server.values()
                return values?.shares.map { server.vault.keyVersion(of: $0.unlock) } == 2
            }
            #expect(resealed)
            daemon.fail(.closeBeforeAnswer)
            #expect(Self.isUnavailable(try await session.check("000000")))
            #expect(Self.isUnavailable(try await session.check("135790")))
            daemon.recover()
            #expect(try await session.check("000000") == .wrong(.open(attemptsLeft: 3, finalRound: false)))
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
            #expect(try await self.codes { _ = try await wallet.openSession() } == ["key-2"])
        }
    }
}
