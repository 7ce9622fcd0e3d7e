import Administration
import ServerTestSupport
import Testing
import TestSupport
import Transport
import Vocabulary
import WalletStore
import Wire

@Suite("Revocation and wipe")
struct RevocationTests {
    @Test("a deletion code revokes its wallet permanently, gets the same answer again, and ends its sessions")
    func revoke() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            let code = try wallet.deletionCode.orThrow()
            let portal = try await server.endpoint.connect()
            let typed = code.grouped.lowercased()
            let done = try await portal.call(.revokeWithCode(typed), timeout: TestWallet.patience)
            guard case .revokeWithCode(.revoked(let revokedAt)) = done else { throw UnexpectedAnswer(done) }
            #expect(revokedAt == server.clock.now())
            #expect(await happens { await first.connection.closed() })
            #expect(await happens { await second.connection.closed() })
            server.clock.advance(by: .seconds(60))
            let again = try await portal.call(.revokeWithCode(code.characters), timeout: TestWallet.patience)
            guard case .revokeWithCode(.revoked(let first)) = again else { throw UnexpectedAnswer(again) }
            #expect(first == revokedAt)

            let session = try await wallet.openSession()
            guard case .revoked(.byDeletionCode) = session.opening else {
                Issue.record("not revoked")
                return
            }
            #expect(try await session.check("135790") == .refused(.revoked(.byDeletionCode)))
            #expect(try await session.check("000000") == .refused(.revoked(.byDeletionCode)))
            #expect(await session.connection.answer(.reportWipe) == .other("reportWipe"))
        }
    }

    @Test("other wallets are not affected")
    func others() async throws {
        try await InProcessServer.run { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            let session = try await other.openSession()
            let portal = try await server.endpoint.connect()
            let code = try wallet.deletionCode.orThrow()
            #expect(await portal.answer(.revokeWithCode(code.characters)) == .other("revoked"))
            #expect(try await session.check("135790") == other.unlockShare.asValid)
        }
    }

    @Test("once a revocation returns, no share of an instruction in flight leaves")
    func inFlight() async throws {
        let gate = Gate()
        var options = InProcessServer.Options()
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try wallet.deletionCode.orThrow()
            gate.close()
            // The PIN was right and the share was read; the answer is delayed just before it is
            // sent.
            async let answer = session.check("135790")
            await gate.isReached()
            let portal = try await server.endpoint.connect()
            #expect(await portal.answer(.revokeWithCode(code.characters)) == .other("revoked"))
            gate.open()
            #expect(try await answer == .closed)
        }
    }

    @Test("once a revocation returns, no share of a session that is being opened leaves")
    func sessionInFlight() async throws {
        let gate = Gate()
        var options = InProcessServer.Options()
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            let code = try wallet.deletionCode.orThrow()
            let connection = try await server.endpoint.greet()
            let call = try await wallet.sessionCall(on: connection)
            gate.close()
            async let answer = connection.answer(.openSession(call))
            await gate.isReached()
            let portal = try await server.endpoint.connect()
            #expect(await portal.answer(.revokeWithCode(code.characters)) == .other("revoked"))
            gate.open()
            #expect(await answer == .closed)
        }
    }

    @Test("a wallet that links a denied recovery code ends on all its connections")
    func deniedLink() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (first, second) = (try await wallet.openSession(), try await wallet.openSession())
            let code: RecoveryCode = "NL-123"
            #expect(try await server.give(RevokeRecoveryCode(code)).revoked == 0)
            let denied = Revocation(reason: .recoveryCode, mayRegisterAnew: false)
            #expect(try await first.answer(.linkRecoveryCode(code), pin: "135790") == .refused(.revoked(denied)))
            #expect(await happens { await second.connection.closed() })
            #expect(try await first.check("135790") == .refused(.revoked(denied)))
        }
    }

    @Test("a wallet's own connection may revoke it and receives the answer")
    func ownConnection() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try wallet.deletionCode.orThrow()
            #expect(await session.connection.answer(.revokeWithCode(code.characters)) == .other("revoked"))
            #expect(try await session.check("135790") == .refused(.revoked(.byDeletionCode)))
        }
    }

    @Test("a reported wipe is permanent, ends the other sessions and gets the same answer again")
    func wipe() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let (mine, other) = (try await wallet.openSession(), try await wallet.openSession())
            #expect(await mine.connection.answer(.reportWipe) == .other("reportWipe"))
            #expect(await happens { await other.connection.closed() })
            #expect(await mine.connection.answer(.reportWipe) == .other("reportWipe"))
            #expect(try await mine.check("135790") == .refused(.revoked(.byWipe)))
        }
    }

    @Test("malformed text and an unknown code get the same answer")
    func unknownCodes() async throws {
        try await InProcessServer.run { server in
            let portal = try await server.endpoint.connect()
            for code in ["0123456789ABCDEFGH", String(repeating: "U", count: 18), String(repeating: "-", count: 64)] {
                #expect(await portal.answer(.revokeWithCode(code)) == .other("not recognised"))
            }
        }
    }

    @Test("one source is rate-limited, and a wallet's owner at another source is not")
    func limited() async throws {
        try await InProcessServer.run { server in
            let portal = try await server.endpoint.connect()
            var answers: [VerdictSummary] = []
            for _ in 0..<25 { answers.append(await portal.answer(.revokeWithCode("0123456789ABCDEFGH"))) }
            #expect(answers.filter { $0 == .other("not recognised") }.count == 20)
            #expect(answers.last == .refused(.rateLimited(retryAfter: .seconds(1))))
            server.clock.advance(by: .seconds(1))
            #expect(await portal.answer(.revokeWithCode("0123456789ABCDEFGH")) == .other("not recognised"))
        }
    }

    @Test("a revoked solution releases no share; after it is restored, every wallet works as before")
    func solution() async throws {
        try await InProcessServer.run { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            _ = try await server.store.setSolutionRevoked(true)
            let revocation = Revocation(reason: .solution, mayRegisterAnew: false)
            #expect(try await session.check("135790") == .refused(.revoked(revocation)))
            guard case .revoked(revocation) = try await wallet.openSession().opening else {
                Issue.record("not revoked")
                return
            }
            _ = try await server.store.setSolutionRevoked(false)
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }
}
