import Administration
import AdminProtocol
import RemotePINServer
import ServerTestSupport
import Synchronization
import TestSupport
import Testing
import Vocabulary
import WalletStore
import Wire

@Suite("Leases of servers that share a store")
struct LeaseTests {
    private let lease = TestLease()
    private var options: InProcessServer.Options {
        var options = InProcessServer.Options()
        options.lease = self.lease
        return options
    }

    @Test("without its lease a server judges nothing, registers no wallet, and asks the client to try again")
    func refused() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            self.lease.set(isHeld: false)
            let again = VerdictSummary.refused(.unavailable(retryAfter: .seconds(2)))
            #expect(try await session.check("000000") == again)
            await #expect(throws: (any Error).self) { _ = try await wallet.openSession() }
            await #expect(throws: (any Error).self) { _ = try await server.wallet() }
            self.lease.set(isHeld: true)
            #expect(try await wallet.openSession().pinState == session.pinState, "nothing was counted")
            #expect(try await session.check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("an answer is withheld if the lease has ended during the call; with the lease, the client repeats the call")
    func withheld() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            self.lease.end(afterChecks: 1)
            #expect(try await session.check("135790") == .closed)
            self.lease.end(afterChecks: 1)
            await #expect(throws: (any Error).self, "a session's answer has the presence share") {
                _ = try await wallet.openSession()
            }
            self.lease.end(afterChecks: 1)
            await #expect(throws: (any Error).self, "a registration's answer has the unlock share") {
                _ = try await server.wallet()
            }
            self.lease.set(isHeld: true)
            #expect(try await wallet.openSession().check("135790") == wallet.unlockShare.asValid)
        }
    }

    @Test("a wrong PIN is counted and not answered if the lease has ended during the call")
    func verdicts() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            self.lease.end(afterChecks: 1)
            #expect(try await session.check("000000") == .closed)
            self.lease.set(isHeld: true)
            #expect(try await wallet.openSession().pinState != session.pinState)
        }
    }

    @Test("a revocation by code or by an operator returns only after every server has acknowledged it")
    func acknowledged() async throws {
        try await InProcessServer.run(self.options) { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            let (portal, code) = (try await server.endpoint.connect(), try wallet.deletionCode.orThrow())
            self.lease.gate.close()
            let answers = AnswerCount()
            let byCode = Task {
                let answer = await portal.answer(.revokeWithCode(code.characters))
                answers.add()
                return answer
            }
            await self.lease.gate.isReached()
            #expect(answers.value == 0)
            self.lease.gate.open()
            #expect(await byCode.value == .other("revoked"))
            self.lease.gate.close()
            let byOperator = Task {
                let reply = try await server.give(RevokeWallets([other.walletID]))
                answers.add()
                return reply
            }
            await self.lease.gate.isReached()
            #expect(answers.value == 1)
            self.lease.gate.open()
            let servers = Acknowledgements(acknowledged: ["here"], ended: ["there"])
            #expect(try await byOperator.value.servers == servers)
        }
    }

    @Test("only the server with the maintenance removes registrations that never had a session")
    func sweeps() async throws {
        try await InProcessServer.run(self.options) { server in
            let wallet = try await server.wallet()
            server.clock.advance(by: .seconds(86_401))
            self.lease.set(hasMaintenance: false)
            await server.server.runDueTimers()
            #expect(try await server.store.identity(of: wallet.walletID) != nil)
            self.lease.set(hasMaintenance: true)
            await server.server.runDueTimers()
            #expect(try await server.store.identity(of: wallet.walletID) == nil)
        }
    }

    @Test(
        "no answer in flight is sent after this server has settled another server's revocation, or its lease has ended",
        arguments: [true, false]
    )
    func inFlight(namesWallets: Bool) async throws {
        let gate = Gate()
        var options = self.options
        options.wrapping = { GatedStore(store: $0, gate: gate) }
        try await InProcessServer.run(options) { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            let (session, unconcerned) = (try await wallet.openSession(), try await other.openSession())
            gate.close()
            // The PIN is judged right and the share read; the answer is delayed just before it is sent.
            async let answer = session.check("135790")
            await gate.isReached()
            await self.lease.settle(namesWallets ? [wallet.walletID] : nil)
            gate.open()
            #expect(try await answer == .closed)
            if namesWallets { #expect(try await unconcerned.check("135790") == other.unlockShare.asValid) }
        }
    }

    @Test("a command that the database does not carry out is refused with that reason, not with a full disk")
    func failover() async throws {
        for lease in [self.lease, nil] {
            var options = InProcessServer.Options.failing(with: .unavailable, at: .beforeCommit) { true }
            options.lease = lease
            try await InProcessServer.run(options) { server in
                let wallet = try await server.wallet()
                let failure = await server.refusal(of: RevokeWallets([wallet.walletID]))
                #expect(failure?.kind == .unavailable)
                #expect(failure?.message.contains("database") == (lease != nil))
                #expect(failure?.message.contains("disk") == (lease == nil))
            }
        }
    }

    @Test("a revocation at another server closes the wallet's idle sessions, and no other wallet's")
    func idle() async throws {
        try await InProcessServer.run(self.options) { server in
            let (wallet, other) = (try await server.wallet(), try await server.wallet())
            let (session, unconcerned) = (try await wallet.openSession(), try await other.openSession())
            await self.lease.settle([wallet.walletID])
            #expect(await session.connection.answer(.reportWipe) == .closed)
            #expect(try await unconcerned.check("135790") == other.unlockShare.asValid)
        }
    }
}

/// The number of answers so far.
private final class AnswerCount: Sendable {
    private let count = Mutex(0)

    var value: Int { self.count.withLock(\.self) }
    func add() { self.count.withLock { $0 += 1 } }
}
