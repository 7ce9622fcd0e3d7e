import Testing
import HistoryChecker
import Vocabulary

@Suite("What a server may answer")
struct WalletHistoryTests {
    private let rules = OracleRules(policy: .standard, clockTolerance: .milliseconds(10))
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func check(_ isRight: Bool) -> Message { .check(isRight: isRight, generation: 0) }

    /// One message and its answer, a millisecond apart.
    private func exchange(
        _ history: inout WalletHistory,
        _ id: Int,
        _ message: Message,
        _ answer: Answer,
        after: Duration = .zero
    ) -> Violation? {
        history.sent(id, message, at: self.start + after)
        return history.answered(id, answer, at: self.start + after + .milliseconds(1))
    }

    private func wrong(_ left: Int, final isFinal: Bool = false) -> Answer {
        .verdict(.wrong(.open(attemptsLeft: left, finalRound: isFinal)))
    }

    /// A history with the first round used up at the start.
    private func inFirstBlock() -> WalletHistory {
        var history = WalletHistory(self.rules)
        for (id, left) in [3, 2, 1].enumerated() {
            #expect(self.exchange(&history, id, self.check(false), self.wrong(left)) == nil)
        }
        let end = self.exchange(&history, 3, self.check(false), .verdict(.wrong(.blocked(remaining: .seconds(60)))))
        #expect(end == nil)
        return history
    }

    @Test("a right PIN is valid, with this wallet's share, and a wrong one is not")
    func verdicts() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(true), .verdict(.valid)) == nil)
        #expect(self.exchange(&history, 2, self.check(false), .verdict(.valid)) == .wrongPINCalledValid)
        history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 3, self.check(true), self.wrong(3)) == .rightPINCalledWrong)
        history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 4, self.check(true), .validWithForeignShare) == .shareOfAnotherWallet)
    }

    @Test("attempts left count down, round by round")
    func countdown() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3)) == nil)
        let said = PINState.open(attemptsLeft: 3, finalRound: false)
        let possible = PINState.open(attemptsLeft: 2, finalRound: false)
        #expect(
            self.exchange(&history, 2, self.check(false), self.wrong(3))
                == .impossibleCount(said: said, possible: [possible])
        )
        // It goes on from what the server said.
        #expect(self.exchange(&history, 3, self.check(true), .verdict(.valid)) == nil)
        #expect(self.exchange(&history, 4, self.check(false), self.wrong(3)) == nil)
    }

    @Test("nothing is judged during a block, whose end is told to the millisecond")
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

    @Test("a lost answer was counted or not, and the next one tells")
    func lost() {
        for left in [3, 2] {
            var history = WalletHistory(self.rules)
            history.sent(1, self.check(false), at: self.start)
            history.lost(1, at: self.start)
            history.serverEnded(by: self.start)
            #expect(!history.isCertain)
            #expect(self.exchange(&history, 2, self.check(false), self.wrong(left), after: .seconds(1)) == nil)
            #expect(history.isCertain)
        }
        var history = WalletHistory(self.rules)
        history.sent(1, self.check(false), at: self.start)
        history.lost(1, at: self.start)
        #expect(self.exchange(&history, 2, self.check(false), self.wrong(1), after: .seconds(1)) != nil)
    }

    @Test("a repeated attempt id costs nothing, and gives nothing")
    func repetition() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3)) == nil)
        history.sent(2, self.check(true), repeating: 1, at: self.start)
        var other = history
        #expect(history.answered(2, self.wrong(3), at: self.start) == nil)
        #expect(other.answered(2, .verdict(.valid), at: self.start) != nil)
    }

    @Test("of a thousand guesses at once the four that are judged may be any, and the right one among them")
    func burst() {
        var history = WalletHistory(self.rules)
        for id in 0..<1000 { history.sent(id, self.check(id == 500), at: self.start) }
        let now = self.start + .milliseconds(40)
        #expect(history.answered(500, .verdict(.valid), at: now) == nil)
        for (id, answer) in [
            (3, self.wrong(3)), (4, .verdict(.wrong(.blocked(remaining: .seconds(60))))), (2, self.wrong(2)),
            (1, self.wrong(1)),
        ] {
            #expect(history.answered(id, answer, at: now) == nil)
        }
        var (blocked, fifth) = (history, history)
        for id in 5..<500 {
            #expect(blocked.answered(id, .verdict(.blocked(remaining: .seconds(60))), at: now) == nil)
        }
        // Three more may have come before the right one, whose count it took back; a fourth may not.
        #expect(fifth.answered(700, self.wrong(3), at: now) == nil)
        #expect(fifth.answered(701, self.wrong(3), at: now) != nil)
    }

    @Test("what is kept between runs says the same, in sixteen bytes")
    func kept() throws {
        var history = self.inFirstBlock()
        let kept = history.kept(at: self.start, generation: 0)
        let read = try #require(KeptHistory(bytes: kept.bytes))
        #expect(read == kept)
        #expect(KeptHistory(bytes: Array(kept.bytes.dropLast())) == nil)
        history = WalletHistory(self.rules, kept: read)
        #expect(
            self.exchange(&history, 9, self.check(true), .verdict(.valid), after: .seconds(50))?.name
                == "judged-during-block"
        )
        #expect(WalletHistory(self.rules).kept(at: self.start, generation: 0).bytes.count == 16)
    }

    @Test("a changed policy applies from the next judged PIN on; a block keeps its end")
    func policy() throws {
        let history = self.inFirstBlock()
        let short = try #require(AttemptPolicy(rounds: 3, attemptsPerRound: 2, blocks: [.seconds(5)]))
        var ruled = history.ruled(by: OracleRules(policy: short))
        #expect(self.exchange(&ruled, 9, self.check(true), .verdict(.valid), after: .seconds(50)) != nil)
        ruled = history.ruled(by: OracleRules(policy: short))
        // Four are counted: the fifth is the first of the final round.
        #expect(self.exchange(&ruled, 9, self.check(false), self.wrong(1, final: true), after: .seconds(61)) == nil)
    }

    @Test("a session shows the wallet's state and the PIN key in force")
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
