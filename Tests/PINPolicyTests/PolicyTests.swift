import PINPolicy
import TestSupport
import Testing
import Vocabulary

@Suite("Standard and unusual policies")
struct PolicyTests {
    static let policies: [AttemptPolicy] = [
        .standard,
        AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []),
        AttemptPolicy(rounds: 1, attemptsPerRound: 16, blocks: []),
        AttemptPolicy(rounds: 16, attemptsPerRound: 1, blocks: [.seconds(1)]),
        AttemptPolicy(rounds: 16, attemptsPerRound: 16, blocks: [.seconds(1), .seconds(2)]),
        AttemptPolicy(rounds: 4, attemptsPerRound: 4, blocks: []),
        AttemptPolicy(rounds: 5, attemptsPerRound: 2, blocks: [.seconds(60), .milliseconds(1)]),
        AttemptPolicy(rounds: 2, attemptsPerRound: 3, blocks: [AttemptPolicy.allowedBlocks.upperBound]),
    ].compactMap(\.self)

    private let start = Timestamp(milliseconds: 1_700_000_000_000)

    @Test("every policy of the table is valid")
    func allValid() {
        #expect(Self.policies.count == 8)
    }

    @Test("with the clock moved past each block, exactly rounds × attempts are judged", arguments: policies)
    func allowance(policy: AttemptPolicy) {
        var record = AttemptRecord()
        var now = self.start
        var judged = 0
        for _ in 0..<1000 {
            _ = record.judge(.random(), policy: policy, now: now) {
                judged += 1
                return false
            }
            if case .blocked(let remaining) = record.state(policy: policy, now: now) { now = now + remaining }
        }
        #expect(judged == policy.rounds * policy.attemptsPerRound)
        #expect(record.state(policy: policy, now: now) == .blockedPermanently)
    }

    @Test(
        "a block follows each round but the last; the last block repeats if there are fewer blocks than rounds",
        arguments: policies
    )
    func blocks(policy: AttemptPolicy) {
        var record = AttemptRecord()
        var now = self.start
        for round in 1...policy.rounds {
            var verdict = PINVerdict.valid
            for _ in 0..<policy.attemptsPerRound { verdict = record.wrong(at: now, policy: policy) }
            let length = policy.blocks.isEmpty ? .zero : policy.blocks[min(round, policy.blocks.count) - 1]
            if round == policy.rounds {
                #expect(verdict == .wrong(.blockedPermanently))
            } else if length > .zero {
                #expect(verdict == .wrong(.blocked(remaining: length)))
            } else {
                let final = round == policy.rounds - 1
                #expect(verdict == .wrong(.open(attemptsLeft: policy.attemptsPerRound, finalRound: final)))
            }
            now = now + length
        }
    }

    @Test("a changed policy does not change the end of a running block or of a permanent one")
    func changeDuringABlock() throws {
        let longer = try #require(AttemptPolicy(rounds: 16, attemptsPerRound: 16, blocks: [.seconds(9000)]))
        var record = AttemptRecord()
        for _ in 0..<4 { _ = record.wrong(at: self.start) }
        #expect(record.wrong(at: self.start, policy: longer) == .blocked(remaining: .seconds(60)))
        let after = self.start + .seconds(60)
        #expect(record.state(policy: longer, now: after) == .open(attemptsLeft: 12, finalRound: false))

        var over = AttemptRecord()
        let single = try #require(AttemptPolicy(rounds: 1, attemptsPerRound: 1, blocks: []))
        #expect(over.wrong(at: self.start, policy: single) == .wrong(.blockedPermanently))
        #expect(over.right(at: self.start, policy: longer) == .blockedPermanently)
    }

    @Test("a smaller policy applies from the next judged attempt: one attempt is left, and it is the last")
    func shrunk() throws {
        let smaller = try #require(AttemptPolicy(rounds: 1, attemptsPerRound: 2, blocks: []))
        var record = AttemptRecord()
        for _ in 0..<3 { _ = record.wrong(at: self.start) }
        #expect(record.state(policy: smaller, now: self.start) == .open(attemptsLeft: 1, finalRound: true))
        var other = record
        #expect(record.wrong(at: self.start, policy: smaller) == .wrong(.blockedPermanently))
        #expect(other.right(at: self.start, policy: smaller) == .valid)
    }

    @Test("any sequence of PINs, repetitions, waits, clock changes and policies agrees with the naive model")
    func againstTheModel() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of the policy's model test: \(seed)")
        var random = SeededGenerator(seed: seed)
        for run in 0..<400 {
            var record = AttemptRecord()
            var model = NaiveModel()
            var now = self.start
            var policy = try #require(Self.policies.randomElement(using: &random))
            var attempt = AttemptID.random(using: &random)
            for step in 0..<60 {
                if Int.random(in: 0..<4, using: &random) > 0 { attempt = .random(using: &random) }
                if Int.random(in: 0..<40, using: &random) == 0 {
                    policy = try #require(Self.policies.randomElement(using: &random))
                }
                let isRight = Int.random(in: 0..<12, using: &random) == 0
                let wanted = model.enter(isRight: isRight, attempt: attempt, policy: policy, now: now.milliseconds)
                let found = record.judge(attempt, policy: policy, now: now) { isRight }
                let state = record.state(policy: policy, now: now)
                try #require(found == wanted, "seed \(seed), run \(run), step \(step)")
                try #require(state == model.state(policy: policy, now: now.milliseconds), "seed \(seed), run \(run)")
                try #require(record.failures == model.judged, "seed \(seed), run \(run), step \(step)")
                try #require(AttemptRecord(decoding: record.encoded()) == record, "seed \(seed), run \(run)")
                now = self.moved(now, state: state, using: &random)
            }
        }
    }

    private func moved(_ now: Timestamp, state: PINState, using random: inout SeededGenerator) -> Timestamp {
        switch (state, Int.random(in: 0..<10, using: &random)) {
        case (.blocked(let remaining), 0..<5): return now + remaining
        case (.blocked(let remaining), 5): return now + remaining + .milliseconds(-1)
        case (_, 6): return now + .milliseconds(-Int64.random(in: 0..<10_000_000, using: &random))
        case (_, 7): return now + .milliseconds(Int64.random(in: 0..<10_000_000, using: &random))
        default: return now
        }
    }
}
