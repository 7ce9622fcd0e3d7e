import Administration
import ServerTestSupport
import Synchronization
import Testing
import TestSupport
import Vocabulary
import WalletStore

@testable import RemotePINServer

@Suite("The times of wallets' last sessions")
struct LastSessionsTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("the latest time of each wallet is written once a minute")
    func everyMinute() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        sessions.record(wallet, at: self.start + .seconds(2))
        sessions.record(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start) == [wallet: self.start + .seconds(2)])
        sessions.record(wallet, at: self.start + .seconds(3))
        #expect(sessions.takeDue(at: self.start + .milliseconds(59_999)).isEmpty)
        #expect(sessions.last(of: wallet) == self.start + .seconds(3))
        #expect(sessions.takeDue(at: self.start + .seconds(60)) == [wallet: self.start + .seconds(3)])
        #expect(sessions.takeDue(at: self.start + .seconds(200)).isEmpty)
    }

    @Test("times are written earlier if the clock was set back or many are pending")
    func earlyWrites() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        #expect(sessions.takeDue(at: self.start).isEmpty)
        sessions.record(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start + .seconds(-1)).count == 1)
        for _ in 0..<49_999 { sessions.record(.random(), at: self.start) }
        #expect(sessions.takeDue(at: self.start).isEmpty)
        sessions.record(wallet, at: self.start)
        #expect(sessions.takeDue(at: self.start).count == 50_000)
    }

    @Test("rejected times are written the next time, and pending ones when the server stops")
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
            #expect(try await server.record(of: wallet).lastSession == first)
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

    @Test("times in flight are known until the store confirms them")
    func inFlight() {
        let (sessions, wallet) = (LastSessions(), WalletID.random())
        sessions.record(wallet, at: self.start)
        let taken = sessions.takeDue(at: self.start)
        #expect(sessions.last(of: wallet) == self.start)
        sessions.record(wallet, at: self.start + .seconds(1))
        #expect(sessions.last(of: wallet) == self.start + .seconds(1))
        let newer = sessions.takeAll()
        sessions.confirm(taken)
        #expect(sessions.last(of: wallet) == self.start + .seconds(1))
        sessions.confirm(newer)
        #expect(sessions.last(of: wallet) == nil)
    }

    @Test("times that could not be written stay pending, and a newer session's time is kept")
    func putBack() {
        let (sessions, wallets) = (LastSessions(), [WalletID.random(), .random()])
        for wallet in wallets { sessions.record(wallet, at: self.start) }
        let taken = sessions.takeAll()
        sessions.record(wallets[0], at: self.start + .seconds(1))
        sessions.putBack(taken)
        #expect(sessions.takeAll() == [wallets[0]: self.start + .seconds(1), wallets[1]: self.start])
    }
}
