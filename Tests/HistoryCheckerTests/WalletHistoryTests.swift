import Testing
import Vocabulary

@testable import HistoryChecker

@Suite("The history of one wallet")
struct WalletHistoryTests {
    private let rules = CheckerRules(policy: .standard, clockTolerance: .milliseconds(10))
    private let start = Timestamp(milliseconds: 1_800_000_000_000)

    private func check(_ isRight: Bool) -> WalletOperation { .check(isRight: isRight, generation: 0) }

    private func wrong(_ left: Int, _ number: UInt64) -> WalletResponse {
        .verdict(.wrong(.open(attemptsLeft: left, finalRound: false)), VerdictPlace(number: number))
    }

    private func valid(_ number: UInt64) -> WalletResponse { .verdict(.valid, VerdictPlace(number: number)) }

    private func blocked(_ remaining: Duration, _ number: UInt64) -> WalletResponse {
        .verdict(.blocked(remaining: remaining), VerdictPlace(number: number, isJudged: false))
    }

    private func block(_ number: UInt64) -> WalletResponse {
        .verdict(.wrong(.blocked(remaining: .seconds(60))), VerdictPlace(number: number))
    }

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

    /// A history in which the first round was used up at the start.
    private func inFirstBlock() -> WalletHistory {
        var history = WalletHistory(self.rules)
        for number in 1...3 {
            let answer = self.wrong(4 - number, UInt64(number))
            #expect(self.exchange(&history, number, self.check(false), answer) == nil)
        }
        #expect(self.exchange(&history, 4, self.check(false), self.block(4)) == nil)
        return history
    }

    @Test("after a violation the history continues from the server's claim")
    func claim() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3, 1)) == nil)
        let said = PINState.open(attemptsLeft: 3, finalRound: false)
        let possible = PINState.open(attemptsLeft: 2, finalRound: false)
        #expect(
            self.exchange(&history, 2, self.check(false), self.wrong(3, 2))
                == .impossibleCount(said: said, possible: [possible])
        )
        #expect(self.exchange(&history, 3, self.check(false), self.wrong(2, 3)) == nil)
        #expect(self.exchange(&history, 4, self.check(true), self.valid(4)) == nil)
        #expect(self.exchange(&history, 5, self.check(false), self.wrong(3, 5)) == nil)
        #expect(history.isCertain)
    }

    @Test("no PIN is judged during a block, and its end is reported to the millisecond")
    func blockEnd() {
        var history = self.inFirstBlock()
        #expect(
            self.exchange(&history, 9, self.check(true), self.valid(5), after: .seconds(50))
                == .judgedDuringBlock(early: .milliseconds(60_000 - 10 - 30 - 50_001))
        )
        history = self.inFirstBlock()
        let rest = Duration.milliseconds(10_000)
        #expect(self.exchange(&history, 9, self.check(true), self.blocked(rest, 4), after: .seconds(50)) == nil)
        #expect(
            self.exchange(&history, 10, self.check(true), self.blocked(rest, 4), after: .seconds(55))
                == .impossibleBlock(said: rest)
        )
    }

    @Test("an operation with a lost response was counted or not, and the next number tells which")
    func lost() {
        for (left, number) in [(3, UInt64(1)), (2, 2)] {
            var history = WalletHistory(self.rules)
            history.invoke(1, self.check(false), at: self.start)
            #expect(history.lose(1, at: self.start) == nil)
            history.serverEnded(by: self.start)
            #expect(!history.isCertain)
            let answer = self.wrong(left, number)
            #expect(self.exchange(&history, 2, self.check(false), answer, after: .seconds(1)) == nil)
            #expect(history.isCertain)
        }
    }

    @Test("of a thousand parallel guesses those with the first numbers are judged, including the right one")
    func burst() {
        var history = WalletHistory(self.rules)
        for id in 0..<1000 { history.invoke(id, self.check(id == 500), at: self.start) }
        let now = self.start + .milliseconds(40)
        let answers = [
            (3, self.wrong(3, 2)), (4, self.block(5)), (500, self.valid(1)), (2, self.wrong(2, 3)),
            (1, self.wrong(1, 4)),
        ]
        for (id, answer) in answers { #expect(history.complete(id, answer, at: now) == nil) }
        for id in [0] + Array(5..<499) { #expect(history.complete(id, self.blocked(.seconds(60), 5), at: now) == nil) }
        var found = history.complete(499, self.wrong(3, 6), at: now)
        for id in 501..<1000 where found == nil {
            found = history.complete(id, self.blocked(.seconds(60), 6), at: now)
        }
        #expect(found?.name == "judged-during-block")
    }

    @Test("a response that never arrives holds back the verdict on later ones until it is lost")
    func stall() {
        var history = WalletHistory(self.rules)
        history.invoke(1, self.check(false), at: self.start)
        for number in 1...500 {
            let answer = self.valid(UInt64(number))
            #expect(self.exchange(&history, number + 1, self.check(true), answer) == nil)
        }
        #expect(self.exchange(&history, 600, self.check(false), self.wrong(2, 501)) == nil)
        #expect(history.lose(1, at: self.start + .seconds(5))?.name == "impossible-count")
    }

    @Test("the summary between runs keeps a running block")
    func summary() {
        let summary = self.inFirstBlock().summary(at: self.start, generation: 0)
        var history = WalletHistory(self.rules, from: HistorySummary(first: summary.first, second: summary.second))
        #expect(
            self.exchange(&history, 9, self.check(true), self.valid(5), after: .seconds(50))?.name
                == "judged-during-block"
        )
    }

    @Test("the summary contains the effect of lost operations, and the first number of the next run is taken as it is")
    func summaryOfLost() {
        for (left, isPossible) in [(3, true), (2, true), (1, false)] {
            var earlier = WalletHistory(self.rules)
            earlier.invoke(1, self.check(false), at: self.start)
            let summary = earlier.summary(at: self.start, generation: 0)
            var history = WalletHistory(self.rules, from: summary)
            let violation = self.exchange(&history, 1, self.check(false), self.wrong(left, 40), after: .seconds(90))
            #expect((violation == nil) == isPossible)
        }
    }

    @Test("a restored backup begins a new epoch, which is counted and not a violation")
    func epoch() {
        var history = WalletHistory(self.rules)
        #expect(self.exchange(&history, 1, self.check(false), self.wrong(3, 1)) == nil)
        let place = VerdictPlace(epoch: 2, number: 1)
        #expect(self.exchange(&history, 2, self.check(true), .verdict(.valid, place)) == nil)
        #expect(history.epochStepCount == 1 && history.isCertain)
    }
}

extension WalletHistory {
    /// Whether the wallet's state is known exactly.
    fileprivate var isCertain: Bool { self.inFlight.isEmpty && self.lost.isEmpty && self.linearizations.count == 1 }
}
