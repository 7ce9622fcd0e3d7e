import Testing
import Vocabulary

/// A second, simple implementation of PF2.8's rules on plain numbers, for comparison with the real one.
struct NaiveModel {
    private var wrongOnes: [AttemptID] = []
    private var blockedUntil: Int64?
    private var blockLasts: Int64 = 0
    private var over = false

    /// The number of PINs judged since the last right one.
    var judged: Int { self.wrongOnes.count }

    mutating func enter(isRight: Bool, attempt: AttemptID, policy: AttemptPolicy, now: Int64) -> PINVerdict {
        if self.over { return .blockedPermanently }
        if let wait = self.waitLeft(now: now) {
            self.blockedUntil = now + wait
            return .blocked(remaining: .milliseconds(wait))
        }
        if attempt == self.wrongOnes.last { return .wrong(self.state(policy: policy, now: now)) }
        if isRight {
            self = NaiveModel()
            return .valid
        }
        self.wrongOnes.append(attempt)
        self.blockedUntil = nil
        if self.judged >= policy.rounds * policy.attemptsPerRound {
            self.over = true
        } else if self.judged % policy.attemptsPerRound == 0, !policy.blocks.isEmpty {
            let round = self.judged / policy.attemptsPerRound
            self.blockLasts = policy.blocks[min(round, policy.blocks.count) - 1].milliseconds
            self.blockedUntil = now + self.blockLasts
        }
        return .wrong(self.state(policy: policy, now: now))
    }

    func state(policy: AttemptPolicy, now: Int64) -> PINState {
        if self.over { return .blockedPermanently }
        if let wait = self.waitLeft(now: now) { return .blocked(remaining: .milliseconds(wait)) }
        var left = policy.attemptsPerRound
        var round = 1
        for _ in self.wrongOnes {
            left -= 1
            if left == 0 {
                left = policy.attemptsPerRound
                round += 1
            }
        }
        if round > policy.rounds { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(attemptsLeft: left, finalRound: round == policy.rounds)
    }

    private func waitLeft(now: Int64) -> Int64? {
        guard let end = self.blockedUntil, end > now else { return nil }
        let wait = min(end - now, self.blockLasts)
        return wait > 0 ? wait : nil
    }
}
