import Testing
import HistoryChecker
import Vocabulary

@Suite("The responses that a server may give")
struct WalletHistoryTests {
    private let rules = CheckerRules(policy: .standard, clockTolerance: .milliseconds(10))
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func check(_ isRight: Bool) -> WalletOperation { .check(isRight: isRight, generation: 0) }

    /// One operation and its response, a millisecond apart.
    private func exchange(
        _ history: inout WalletHistory,
        _ id: Int,
        _ message: WalletOperation,
        _ answer: WalletResponse,
        after: Duration = .zero
    ) -> HistoryViolation? {
        history.invoke(id, message, at: self.start + after)
        return history.complete(id, answer, at: self.start + after + .milliseconds(1))
    }

    private func wrong(_ left: Int, final isFinal: Bool = false) -> WalletResponse {
        .verdict(.wrong(.open(attemptsLeft: left, finalRound: isFinal)))
    }

    /// A history in which the first round was used up at the start.
    private func inFirstBlock() -> WalletHistory {
        var history = WalletHistory(self.rules)
        for (id, left) in [3, 2, 1].enumerated() {
            #expect(self.exchange(&history, id, self.check(false), self.wrong(left)) == nil)
        }
        let end = self.exchange(&history, 3, self.check(false), .verdict(.wrong(.blocked(remaining: .seconds(60)))))
        #expect(end == nil)
        return history
    }

    @Test("a right PIN is valid with this wallet's share, and a wrong one is not")
    func verdicts() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(true), .verdict(.valid)) == nil)
        #expect(self.exchange(&history, 2, self.check(false), .verdict(.valid)) == .wrongPINCalledValid)
        history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 3, self.check(true), self.wrong(3)) == .rightPINCalledWrong)
        history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 4, self.check(true), .validWithForeignShare) == .shareOfAnotherWallet)
    }

    @Test("attempts left count down round by round")
    func countdown() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3)) == nil)
        let said = PINState.open(attemptsLeft: 3, finalRound: false)
        let possible = PINState.open(attemptsLeft: 2, finalRound: false)
        #expect(
            self.exchange(&history, 2, self.check(false), self.wrong(3))
                == .impossibleCount(said: said, possible: [possible])
        )
        // The history continues from the server's claim.
        #expect(self.exchange(&history, 3, self.check(true), .verdict(.valid)) == nil)
        #expect(self.exchange(&history, 4, self.check(false), self.wrong(3)) == nil)
    }

    @Test("no PIN is judged during a block, and its end is reported to the millisecond")
    func block() {
        let judged = self.inFirstBlock()
        var history = judged
        #expect(
            self.exchange(&history, 9, self.check(true), .verdict(.valid), after: .seconds(50))
                == .judgedDuringBlock(early: .milliseconds(60_000 - 10 - 30 - 50_001))
        )
        history = judged
        let remaining = Duration.milliseconds(10_000)
        #expect(
            self.exchange(&history, 9, self.check(true), .verdict(.blocked(remaining: remaining)), after: .seconds(50))
                == nil
        )
        #expect(
            self.exchange(&history, 10, self.check(true), .verdict(.blocked(remaining: remaining)), after: .seconds(55))
                == .impossibleBlock(said: remaining)
        )
        history = judged
        #expect(self.exchange(&history, 9, self.check(false), self.wrong(3), after: .seconds(61)) == nil)
        history = WalletHistory(self.rules)
        #expect(
            self.exchange(&history, 9, self.check(true), .verdict(.blocked(remaining: remaining))) == .blockWithoutCause
        )
        #expect(
            self.exchange(&history, 10, self.check(true), .verdict(.blockedPermanently)) == .permanentBlockWithoutCause
        )
    }

    @Test("an operation with a lost response was counted or not, and the next response tells which")
    func lost() {
        for left in [3, 2] {
            var history = WalletHistory(self.rules)
            history.invoke(1, self.check(false), at: self.start)
            history.lose(1, at: self.start)
            history.serverEnded(by: self.start)
            #expect(!history.isCertain)
            #expect(self.exchange(&history, 2, self.check(false), self.wrong(left), after: .seconds(1)) == nil)
            #expect(history.isCertain)
        }
        var history = WalletHistory(self.rules)
        history.invoke(1, self.check(false), at: self.start)
        history.lose(1, at: self.start)
        #expect(self.exchange(&history, 2, self.check(false), self.wrong(1), after: .seconds(1)) != nil)
    }

    @Test("a repeated attempt id is not counted again and gives no new guess")
    func repetition() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3)) == nil)
        history.invoke(2, self.check(true), repeating: 1, at: self.start)
        var other = history
        #expect(history.complete(2, self.wrong(3), at: self.start) == nil)
        #expect(other.complete(2, .verdict(.valid), at: self.start) != nil)
    }

    @Test("of a thousand parallel guesses any four may be judged, including the right one")
    func burst() {
        var history = WalletHistory(self.rules)
        for id in 0..<1000 { history.invoke(id, self.check(id == 500), at: self.start) }
        let now = self.start + .milliseconds(40)
        #expect(history.complete(500, .verdict(.valid), at: now) == nil)
        for (id, answer) in [
            (3, self.wrong(3)), (4, .verdict(.wrong(.blocked(remaining: .seconds(60))))), (2, self.wrong(2)),
            (1, self.wrong(1)),
        ] {
            #expect(history.complete(id, answer, at: now) == nil)
        }
        var (blocked, fifth) = (history, history)
        for id in 5..<500 {
            #expect(blocked.complete(id, .verdict(.blocked(remaining: .seconds(60))), at: now) == nil)
        }
        // Three more may have been judged before the right one, which reset their count; a fourth may not.
        #expect(fifth.complete(700, self.wrong(3), at: now) == nil)
        #expect(fifth.complete(701, self.wrong(3), at: now) != nil)
    }

    @Test("the summary between runs keeps a running block")
    func summary() {
        let summary = self.inFirstBlock().summary(at: self.start, generation: 0)
        var history = WalletHistory(self.rules, from: HistorySummary(first: summary.first, second: summary.second))
        #expect(
            self.exchange(&history, 9, self.check(true), .verdict(.valid), after: .seconds(50))?.name
                == "judged-during-block"
        )
    }

    @Test("a session reports the wallet's state and the PIN key in force")
    func opening() {
        var history = self.inFirstBlock()
        let shown = PINState.blocked(remaining: .seconds(40))
        #expect(self.exchange(&history, 9, .opening, .opened(shown, generation: 0), after: .seconds(20)) == nil)
        let open = PINState.open(attemptsLeft: 4, finalRound: false)
        #expect(
            self.exchange(&history, 10, .opening, .opened(open, generation: 0), after: .seconds(21))?.name
                == "impossible-opening"
        )
    }
}
