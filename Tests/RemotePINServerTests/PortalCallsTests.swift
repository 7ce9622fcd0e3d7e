import Administration
import AuditLog
import RemotePINServer
import Synchronization
import ServerTestSupport
import TestSupport
import Testing
import Transport
import Vocabulary
import WalletStore
import Wire

@Suite("The deletion portal's calls to the server")
struct PortalCallsTests {
    private func request(_ code: String, from source: String = "192.0.2.1") -> PortalRequest {
        PortalRequest(id: 1, code: code, source: source)
    }

    @Test("a code revokes its wallet and ends its sessions; a repetition returns the same time and does no more")
    func revoke() async throws {
        try await InProcessServer.run { server in
            let calls = PortalCalls(of: server.server)
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try wallet.deletionCode.orThrow()
            let done = await calls.carryOut(self.request(code.grouped.lowercased()))
            #expect(done == .revoked(at: server.clock.now()))
            #expect(await happens { await session.connection.closed() })
            server.clock.advance(by: .seconds(60))
            #expect(await calls.carryOut(self.request(code.characters, from: "2001:db8::1")) == done)
            let record = try await server.record().suffix(2)
            #expect(record.allSatisfy { $0.actor == .portal && $0.subject.wallets == [wallet.walletID] })
            #expect(record.first?.phase == .begun, "recorded before the commit, and once")
            guard case .revoked(.byDeletionCode) = try await wallet.openSession().opening else {
                Issue.record("not revoked")
                return
            }
            let log = server.log.lines.joined()
            #expect(!log.contains(code.characters) && !log.contains(code.grouped))
        }
    }

    @Test("an invalid, unknown or short code gets the same answer; an invalid source is rejected")
    func wrong() async throws {
        try await InProcessServer.run { server in
            let calls = PortalCalls(of: server.server)
            for code in ["0123456789ABCDEFGH", "UUUUUUUUUUUUUUUUUU", "x", "-"] {
                #expect(await calls.carryOut(self.request(code)) == .notRecognised)
            }
            for source in ["localhost", "192.0.2.1:80", "::/64", "1.2.3"] {
                #expect(await calls.carryOut(self.request("x", from: source)) == .malformed)
            }
        }
    }

    @Test("the server limits the source that the portal names, and no other")
    func limited() async throws {
        try await InProcessServer.run { server in
            let calls = PortalCalls(of: server.server)
            var results: [PortalResult?] = []
            for number in 0..<25 {
                results.append(await calls.carryOut(self.request("x", from: "2001:db8:0:1:\(number)::1")))
            }
            #expect(results.count { $0 == .notRecognised } == 20)
            #expect(results.last == .rateLimited(retryAfter: .seconds(1)))
            #expect(await calls.carryOut(self.request("x")) == .notRecognised)
        }
    }

    @Test("unknown codes from any number of sources do not fill the log")
    func lines() async throws {
        try await InProcessServer.run { server in
            let calls = PortalCalls(of: server.server)
            let start = ContinuousClock.now
            for number in 1...60 {
                #expect(await calls.carryOut(self.request("x", from: "2001:db8:0:\(number)::1")) == .notRecognised)
            }
            // Twenty lines in ten seconds; a slow machine needs more than ten seconds.
            let most = 20 * Int((ContinuousClock.now - start) / .seconds(10) + 1)
            let lines = server.log.lines.count { $0.contains("deletion code not recognized") }
            #expect(lines >= 20 && lines <= most, "\(lines)")
        }
    }

    @Test("an incomplete revocation gets no answer, is reported once, and is completed by a repetition")
    func notErased() async throws {
        let fails = Mutex(true)
        try await InProcessServer.run(.failing(with: .notErased, at: .afterCommit) { fails.withLock { $0 } }) {
            server in
            let calls = PortalCalls(of: server.server)
            let wallet = try await server.wallet()
            let session = try await wallet.openSession()
            let code = try wallet.deletionCode.orThrow().characters
            #expect(await calls.carryOut(self.request(code)) == nil)
            #expect(await happens { await session.connection.closed() })
            let phases = try await server.record().map(\.phase)
            guard case .done(of: _?, _)? = phases.last else {
                Issue.record("\(phases)")
                return
            }
            fails.withLock { $0 = false }
            guard case .revoked? = await calls.carryOut(self.request(code)) else {
                Issue.record("the second time")
                return
            }
            #expect(try await server.record().count == phases.count)
            #expect(server.log.lines.count { $0.contains("wallet revoked by its deletion code") } == 1)
        }
    }

    @Test("if the store rejects the revocation the answer is `unavailable`, which reveals nothing about the code")
    func unavailable() async throws {
        try await InProcessServer.run { server in
            let calls = PortalCalls(of: server.server)
            await server.store.close()
            #expect(await calls.carryOut(self.request("x")) == .unavailable(retryAfter: .seconds(2)))
        }
    }
}
