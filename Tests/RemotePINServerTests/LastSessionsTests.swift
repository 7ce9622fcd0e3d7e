import Testing
import Vocabulary

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
