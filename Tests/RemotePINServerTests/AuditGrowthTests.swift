import Administration
import AuditLog
import ServerTestSupport
import Synchronization
import Testing
import TestSupport
import Transport
import Vault
import Vocabulary
import WalletStore
import Wire

@Suite("The audit entries that wallets and attackers can cause")
struct AuditGrowthTests {
    private static let code: RecoveryCode = "NL-999-SECRET"
    private static let right = "135790"

    private static func deny(_ server: InProcessServer) async throws {
        try await server.give(RevokeRecoveryCode(self.code))
    }

    /// Links the denied code with this PIN.
    private static func link(
        _ session: TestSession,
        pin: String,
        attemptID: AttemptID = .random(),
        pair: TestWallet.PINPair? = nil
    ) async throws -> VerdictSummary {
        let call = try session.instructCall(.linkRecoveryCode(Self.code), pin: pin, attemptID: attemptID, pair: pair)
        return await session.connection.answer(.instruct(call))
    }

    /// Options for a server whose store delays each commit while a gate is closed.
    private static func holdingCommits(at gate: Gate) -> InProcessServer.Options {
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(store: store, gate: Gate()) { (moment: GatedStore.Moment) throws(StoreError) in
                if case .beforeCommit = moment { await gate.pass() }
            }
        }
        return options
    }

    @Test("links to a denied code with wrong, repeated or outdated PINs leave no entry")
    func notLinked() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            try await Self.deny(server)
            let session = try await wallet.openSession()
            let before = try await server.record().count
            let attempt = AttemptID.random()
            let old = wallet.pinPair
            for _ in 0..<5 {
                #expect(try await Self.link(session, pin: "000000", attemptID: attempt).isWrong)
                #expect(try await Self.link(session, pin: "000000", attemptID: attempt).isWrong)
                #expect(try await session.check(Self.right) == wallet.unlockShare.asValid)
            }
            guard case .instruct(.pinChanged) = try await session.changePIN(from: Self.right, to: "246813") else {
                throw UnexpectedAnswer()
            }
            for _ in 0..<5 {
                guard case .refused(.pinKeyChanged) = try await Self.link(session, pin: Self.right, pair: old) else {
                    Issue.record("the PIN of an old key was judged")
                    return
                }
            }
            // During a block no attempt is judged, so no wallet ends.
            for _ in 0..<4 { _ = try await session.check("000000") }
            for _ in 0..<5 {
                guard case .blocked = try await Self.link(session, pin: "246813") else {
                    Issue.record("judged during a block")
                    return
                }
            }
            #expect(try await server.record().count == before)
            #expect(try await server.pinState(wallet) != nil)
        }
    }

    @Test("a right PIN leaves no entry if the wallet is linked already or the solution is revoked")
    func noEnd() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            #expect(try await session.answer(.linkRecoveryCode("NL-7"), pin: Self.right) == .recoveryCodeLinked)
            try await Self.deny(server)
            let before = try await server.record().count
            for _ in 0..<5 { #expect(try await Self.link(session, pin: Self.right) == .refused(.notAllowed)) }
            #expect(try await server.record().count == before)
            try await server.give(RevokeSolution())
            let revocation = Revocation(reason: .solution, mayRegisterAnew: false)
            for _ in 0..<5 { #expect(try await Self.link(session, pin: Self.right) == .refused(.revoked(revocation))) }
            #expect(try await server.record().count == before + 2)
        }
    }

    @Test("concurrent requests to end a wallet leave a single record")
    func concurrentRequests() async throws {
        let gate = Gate()
        try await InProcessServer.run(Self.holdingCommits(at: gate)) { server in
            let wallet = try await server.wallet()
            let text = try wallet.deletionCode.orThrow().characters
            var connections: [ClientConnection] = []
            for _ in 0..<12 { connections.append(try await server.endpoint.connect()) }
            gate.close()
            try await withThrowingTaskGroup { group in
                for connection in connections {
                    group.addTask { #expect(await connection.answer(.revokeWithCode(text)) == .other("revoked")) }
                }
                // Recorded as begun and delayed before its commit while the other requests arrive.
                await gate.isReached()
                for _ in 0..<50 { try await server.give(ShowStatus()) }
                gate.open()
                try await group.waitForAll()
            }
            // The begun and the done entry.
            #expect(try await server.record().filter { $0.event == .deletionCode }.count == 2)
        }
    }

    @Test("an end that the store rejects stays begun with one entry until the store accepts it")
    func unavailable() async throws {
        let fails = Mutex(true)
        try await InProcessServer.run(.failing(with: .unavailable, at: .beforeCommit) { fails.withLock { $0 } }) {
            server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let text = try wallet.deletionCode.orThrow().characters
            for _ in 0..<5 {
                guard case .refused(.unavailable) = await session.connection.answer(.reportWipe),
                    case .refused(.unavailable) = await session.connection.answer(.revokeWithCode(text))
                else {
                    Issue.record("ended without the store")
                    return
                }
            }
            #expect(try await server.record().dropFirst().map(\.phase) == [.begun, .begun])
            fails.withLock { $0 = false }
            #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))
            #expect(await session.connection.answer(.revokeWithCode(text)) == .other("revoked"))
            let entries = try await server.record().dropFirst()
            #expect(entries.map(\.event) == [.wipe, .deletionCode, .wipe])
            #expect(entries.last?.phase == .done(of: 2, result: "revoked"))
        }
    }

    @Test("a link to a denied code gets no answer while the store rejects the wallet's end, since its PIN was judged")
    func rejectedEnd() async throws {
        let fails = Mutex(false)
        try await InProcessServer.run(.failing(with: .unavailable, at: .beforeCommit) { fails.withLock { $0 } }) {
            server in
            let wallet = try await server.wallet()
            try await Self.deny(server)
            fails.withLock { $0 = true }
            #expect(try await Self.link(wallet.openSession(), pin: Self.right) == .closed)
            fails.withLock { $0 = false }
            let revocation = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            #expect(try await Self.link(wallet.openSession(), pin: Self.right) == .refused(.revoked(revocation)))
        }
    }

    @Test("a denial and its removal are replayed in the order of their commits")
    func order() async throws {
        let gate = Gate()
        try await InProcessServer.run(Self.holdingCommits(at: gate)) { server in
            let code = Self.code
            let mac = try RecoveryCodeMAC(server.vault.mac(code.bytes, for: .recoveryCodeIndex)).orThrow()
            let backup = try await server.backup("one")
            try await Self.deny(server)
            gate.close()
            // Recorded as begun and delayed before its commit while the other command arrives.
            async let denial: Void = Self.deny(server)
            await gate.isReached()
            async let allowed = server.give(RemoveDenied(.code(code)))
            for _ in 0..<50 { try await server.give(ShowStatus()) }
            gate.open()
            _ = try await (denial, allowed)
            let isDenied = try await server.store.denied(mac) != nil
            await server.stop()
            try await server.restore(backup, into: "restored")
            let isDeniedAgain = try await server.opened("restored") { try await $0.denied(mac) != nil }
            #expect(isDeniedAgain == isDenied)
        }
    }
}
