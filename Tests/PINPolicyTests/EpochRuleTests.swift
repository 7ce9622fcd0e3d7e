import PINPolicy
import TestSupport
import Testing
import Vocabulary

@Suite("The charge of a restore")
struct EpochRuleTests {
    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    /// A record with this many wrong PINs.
    private func record(_ failures: Int, policy: AttemptPolicy = .standard) -> AttemptRecord {
        var record = AttemptRecord()
        var now = self.start
        for _ in 0..<failures {
            _ = record.wrong(at: now, policy: policy)
            now = now + .seconds(3600)
        }
        return record
    }

    @Test(
        "strict puts a wallet into its last round, charge-one counts one wrong PIN, trust counts none",
        arguments: [
            (0, 12, 1, 0), (1, 12, 2, 1), (3, 12, 4, 3), (11, 12, 12, 11), (12, 12, 13, 12), (14, 14, 15, 14),
            (15, 15, 15, 15),
        ]
    )
    func rules(failures: Int, strict: Int, chargeOne: Int, trust: Int) {
        for (rule, expected) in [(EpochRule.strict, strict), (.chargeOne, chargeOne), (.trust, trust)] {
            var record = self.record(failures)
            record.enter([EpochCharge(rule, openedAt: self.start)], policy: .standard)
            #expect(record.failures == expected, "\(rule)")
            #expect(!record.isBlockedPermanently)
        }
    }

    @Test("a permanent block stays, a running block keeps its end", arguments: EpochRule.allCases)
    func blocks(rule: EpochRule) {
        var permanent = self.record(16)
        #expect(permanent.isBlockedPermanently)
        let before = permanent
        permanent.enter([EpochCharge(rule, openedAt: self.start)], policy: .standard)
        #expect(permanent == before)
        var blocked = AttemptRecord()
        for _ in 0..<4 { _ = blocked.wrong(at: self.start) }
        let block = blocked.block
        blocked.enter([EpochCharge(rule, openedAt: self.start)], policy: .standard)
        #expect(blocked.block == block)
        #expect(blocked.right(at: self.start) == .blocked(remaining: .seconds(60)))
    }

    @Test("charge-one at a round's end begins that round's block at the restore, so the wait cannot be skipped")
    func roundEnd() {
        var record = self.record(3)
        record.enter([EpochCharge(.chargeOne, openedAt: self.start)], policy: .standard)
        #expect(record.right(at: self.start + .seconds(59)) == .blocked(remaining: .seconds(1)))
        // A wallet that returns later has waited long enough.
        #expect(record.right(at: self.start + .seconds(60)) == .valid)
        var second = self.record(7)
        second.enter([EpochCharge(.chargeOne, openedAt: self.start + .seconds(86_400))], policy: .standard)
        guard case .blocked = second.state(policy: .standard, now: self.start + .seconds(86_401)) else {
            Issue.record("no block at the second round's end")
            return
        }
        // The last guess is never charged.
        var last = self.record(15)
        let before = last
        last.enter([EpochCharge(.chargeOne, openedAt: self.start)], policy: .standard)
        #expect(last == before)
    }

    @Test("after a strict restore one round is left, it is the last one, and a right PIN ends the charge")
    func lastRound() {
        var record = AttemptRecord()
        record.enter([EpochCharge(.strict, openedAt: self.start)], policy: .standard)
        #expect(record.state(policy: .standard, now: self.start) == .open(attemptsLeft: 4, finalRound: true))
        var entered = record
        #expect(entered.right(at: self.start) == .valid)
        #expect(entered == AttemptRecord())
        for left in [3, 2, 1] {
            #expect(record.wrong(at: self.start) == .wrong(.open(attemptsLeft: left, finalRound: true)))
        }
        #expect(record.wrong(at: self.start) == .wrong(.blockedPermanently))
    }

    @Test("no order of rules returns a guess, and none takes the last one", arguments: [UInt64(1), 2, 3])
    func property(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let rounds = Int.random(in: 1...6, using: &random)
            let attempts = Int.random(in: 1...6, using: &random)
            guard let policy = AttemptPolicy(rounds: rounds, attemptsPerRound: attempts, blocks: []) else { continue }
            var record = self.record(Int.random(in: 0..<(rounds * attempts), using: &random), policy: policy)
            var least = record.failures
            let rules = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                EpochRule.allCases.randomElement(using: &random) ?? .strict
            }
            let (wasPermanent, before) = (record.isBlockedPermanently, record.failures)
            record.enter(rules.map { EpochCharge($0, openedAt: self.start) }, policy: policy)
            if rules.contains(.strict) { least = max(least, (rounds - 1) * attempts) }
            if rules.contains(.chargeOne) { least = max(least, min(before + 1, rounds * attempts - 1)) }
            #expect(record.failures >= least, "seed \(seed): \(rules) \(policy)")
            #expect(record.isBlockedPermanently == wasPermanent)
            #expect(wasPermanent || record.failures < rounds * attempts)
        }
    }
}
