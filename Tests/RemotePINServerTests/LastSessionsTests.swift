import Synchronization
import ServerTestSupport
import TestSupport
import Testing
import Vocabulary
import WalletStore
import Wire

@testable import RemotePINServer

@Suite("When wallets had their last sessions")
struct LastSessionsTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("the store is told once a minute, of the latest of each wallet")
    func everyMinute() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        sessions.note(wallet, at: self.start + .seconds(2))
        sessions.note(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start) == [wallet: self.start + .seconds(2)])
        sessions.note(wallet, at: self.start + .seconds(3))
        #expect(sessions.takeDue(at: self.start + .milliseconds(59_999)).isEmpty)
        #expect(sessions.last(of: wallet) == self.start + .seconds(3))
        #expect(sessions.takeDue(at: self.start + .seconds(60)) == [wallet: self.start + .seconds(3)])
        #expect(sessions.takeDue(at: self.start + .seconds(200)).isEmpty)
    }

    @Test("it is told before where the clock was set back, and where there are many")
    func before() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        #expect(sessions.takeDue(at: self.start).isEmpty)
        sessions.note(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start + .seconds(-1)).count == 1)
        for _ in 0..<49_999 { sessions.note(.random(), at: self.start) }
        #expect(sessions.takeDue(at: self.start).isEmpty)
        sessions.note(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start).count == 50_000)
    }

    @Test("what the store refused is told the next time, and what still waits at the end")
    func refused() async throws {
        let refusals = Mutex(1)
        var options = InProcessServer.Options()
        options.wrapping = { store in
            GatedStore(
                store: store,
                gate: Gate(),
                keeping: { () throws(StoreError) in
                    let refuses = refusals.withLock { left in
                        defer { left = 0 }
                        return left > 0
                    }
                    if refuses { throw .unavailable }
                }
            )
        }
        try await InProcessServer.run(options) { server in
            let wallet = try await server.wallet()
            func kept() async throws -> Timestamp? {
                let report = try await server.store.report(of: wallet.walletID)
                return report?.lastSession
            }
            _ = try await wallet.openSession()
            let first = server.clock.now()
            await server.server.runDueTimers()
            #expect(try await kept() == nil)
            #expect(try await server.commands.report(of: wallet.walletID).lastSession == first)
            server.clock.advance(by: .seconds(60))
            await server.server.runDueTimers()
            #expect(try await kept() == first)
            server.clock.advance(by: .seconds(5))
            _ = try await wallet.openSession()
            let timers = Task { await server.server.runTimers() }
            timers.cancel()
            await timers.value
            #expect(try await kept() == first + .seconds(65))
        }
    }

    @Test("what the store is being told is still known, until it says that it has it")
    func told() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        sessions.note(wallet, at: self.start)
        let taken = sessions.takeDue(at: self.start)
        #expect(sessions.last(of: wallet) == self.start)
        sessions.note(wallet, at: self.start + .seconds(1))
        #expect(sessions.last(of: wallet) == self.start + .seconds(1))
        let newer = sessions.takeAll()
        sessions.told(taken)
        #expect(sessions.last(of: wallet) == self.start + .seconds(1))
        sessions.told(newer)
        #expect(sessions.last(of: wallet) == nil)
    }

    @Test("what the store did not take waits on, and a newer session meanwhile stays")
    func putBack() {
        let (sessions, wallets) = (LastSessions(), [WalletID.random(), .random()])
        for wallet in wallets { sessions.note(wallet, at: self.start) }
        let taken = sessions.takeAll()
        sessions.note(wallets[0], at: self.start + .seconds(1))
        sessions.putBack(taken)
        #expect(sessions.takeAll() == [wallets[0]: self.start + .seconds(1), wallets[1]: self.start])
    }
}
