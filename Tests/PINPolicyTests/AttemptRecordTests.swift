import PINPolicy
import Testing
import Vocabulary

@Suite("Attempts, rounds and blocks")
struct AttemptRecordTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    @Test(
        "the standard policy gives four rounds of four, with the waits of PF2.8 between them, then blocks permanently"
    )
    func standardPolicy() {
        var record = AttemptRecord()
        var now = self.start
        for (round, wait) in [60, 300, 3600].enumerated() {
            for left in [3, 2, 1] {
                #expect(record.wrong(at: now) == .wrong(.open(attemptsLeft: left, finalRound: false)))
            }
            #expect(record.wrong(at: now) == .wrong(.blocked(remaining: .seconds(wait))), "round \(round + 1)")
            now = now + .seconds(wait)
            #expect(
                record.state(policy: .standard, now: now) == .open(attemptsLeft: 4, finalRound: round == 2)
            )
        }
        for left in [3, 2, 1] {
            #expect(record.wrong(at: now) == .wrong(.open(attemptsLeft: left, finalRound: true)))
        }
        #expect(record.wrong(at: now) == .wrong(.blockedPermanently))
        #expect(record.right(at: now + .seconds(1_000_000)) == .blockedPermanently)
        #expect(record.failures == 16)
    }

    @Test("a right PIN restores every attempt and every round", arguments: 0..<16)
    func acquittal(wrongBefore: Int) {
        var record = AttemptRecord()
        var now = self.start
        for _ in 0..<wrongBefore {
            _ = record.wrong(at: now)
            now = now + .seconds(3600)
        }
        #expect(record.right(at: now) == .valid)
        #expect(record == AttemptRecord())
    }

    @Test("during a block no PIN is judged or counted and the block is not extended, even for a right PIN")
    func block() {
        var record = AttemptRecord()
        for _ in 0..<4 { _ = record.wrong(at: self.start) }
        let blocked = record
        let nearTheEnd = self.start + .milliseconds(59_999)
        #expect(record.wrong(at: nearTheEnd) == .blocked(remaining: .milliseconds(1)))
        #expect(record.right(at: nearTheEnd) == .blocked(remaining: .milliseconds(1)))
        #expect(record == blocked)
        #expect(record.right(at: self.start + .seconds(60)) == .valid)
    }

    @Test("the comparison runs once after a count, and never if no attempt was granted")
    func comparisonFollowsTheCount() {
        var record = AttemptRecord()
        var comparisons = 0
        for _ in 0..<10 {
            _ = record.judge(.random(), policy: .standard, now: self.start) {
                comparisons += 1
                return false
            }
        }
        #expect(comparisons == 4)
    }

    @Test("repeating the last wrong attempt returns its verdict and costs nothing, with any PIN")
    func repetition() {
        var record = AttemptRecord()
        let attempt = AttemptID.random()
        let verdict = PINVerdict.wrong(.open(attemptsLeft: 3, finalRound: false))
        #expect(record.wrong(at: self.start, attempt: attempt) == verdict)
        #expect(record.wrong(at: self.start, attempt: attempt) == verdict)
        #expect(record.right(at: self.start, attempt: attempt) == verdict)
        #expect(record.failures == 1)
    }

    @Test("an attempt that began a block, repeated after the block, gets its original answer")
    func repetitionAfterABlock() {
        var record = AttemptRecord()
        let attempt = AttemptID.random()
        for _ in 0..<3 { _ = record.wrong(at: self.start) }
        _ = record.wrong(at: self.start, attempt: attempt)
        #expect(record.right(at: self.start, attempt: attempt) == .blocked(remaining: .seconds(60)))
        let after = self.start + .seconds(60)
        #expect(record.right(at: after, attempt: attempt) == .wrong(.open(attemptsLeft: 4, finalRound: false)))
        #expect(record.failures == 4)
    }

    @Test("a repeated right attempt is judged again")
    func rightRepeated() {
        var record = AttemptRecord()
        let attempt = AttemptID.random()
        #expect(record.right(at: self.start, attempt: attempt) == .valid)
        #expect(record.right(at: self.start, attempt: attempt) == .valid)
        #expect(record.wrong(at: self.start, attempt: attempt) == .wrong(.open(attemptsLeft: 3, finalRound: false)))
    }

    @Test("after the clock was set back, a block lasts its full length again, once, and the record shows it")
    func clockSetBack() {
        var record = AttemptRecord()
        for _ in 0..<4 { _ = record.wrong(at: self.start) }
        let yesterday = self.start + .seconds(-86_400)
        #expect(record.state(policy: .standard, now: yesterday) == .blocked(remaining: .seconds(60)))
        #expect(record.right(at: yesterday) == .blocked(remaining: .seconds(60)))
        #expect(record.block?.end == yesterday + .seconds(60))
        #expect(record.right(at: yesterday + .seconds(30)) == .blocked(remaining: .seconds(30)))
        #expect(record.holdBlockToItsLength(now: yesterday + .seconds(30)) == false)
        #expect(record.right(at: yesterday + .seconds(60)) == .valid)
    }

    @Test("clocks at either end of the range neither trap nor open a block")
    func extremeClocks() {
        var record = AttemptRecord()
        for _ in 0..<4 { _ = record.wrong(at: self.start) }
        let first = Timestamp(milliseconds: .min)
        #expect(record.state(policy: .standard, now: first) == .blocked(remaining: .seconds(60)))
        var atTheEnd = AttemptRecord()
        let last = Timestamp(milliseconds: .max)
        for _ in 0..<4 { _ = atTheEnd.wrong(at: last) }
        #expect(atTheEnd.failures == 4)
    }
}

extension AttemptRecord {
    mutating func wrong(
        at now: Timestamp,
        attempt: AttemptID = .random(),
        policy: AttemptPolicy = .standard
    ) -> PINVerdict {
        self.judge(attempt, policy: policy, now: now) { false }
    }

    mutating func right(
        at now: Timestamp,
        attempt: AttemptID = .random(),
        policy: AttemptPolicy = .standard
    ) -> PINVerdict {
        self.judge(attempt, policy: policy, now: now) { true }
    }
}
