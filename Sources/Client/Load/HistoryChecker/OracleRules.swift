package import Vocabulary

/// What a server's answers are held against; one for all wallets of a run.
package final class OracleRules: Sendable {
    /// As the server's Hello says it.
    package let policy: AttemptPolicy
    /// By how much the server's clock may differ from the run's, beside a two-thousandth of what is measured.
    package let clockTolerance: Duration
    /// How long a message without an answer may lie before it is judged after all.
    ///
    /// A connection that ended takes nothing back that the server had already read.
    package let lateEffect: Duration

    /// Block ends are checked to the tolerance, so that a clock that is set by the network raises no alarm.
    package init(
        policy: AttemptPolicy,
        clockTolerance: Duration = .milliseconds(50),
        lateEffect: Duration = .seconds(60)
    ) {
        self.policy = policy
        self.clockTolerance = clockTolerance
        self.lateEffect = lateEffect
    }
}

extension OracleRules {
    /// Milliseconds of the block after so many wrong PINs; 0 where there is none.
    func blockLength(after failures: Int) -> Int64 {
        guard failures.isMultiple(of: self.policy.attemptsPerRound), let last = self.policy.blocks.last else {
            return 0
        }
        let round = failures / self.policy.attemptsPerRound
        return max(0, (round <= self.policy.blocks.count ? self.policy.blocks[round - 1] : last).milliseconds)
    }

    /// What an unblocked wallet shows after so many wrong PINs.
    func openState(after failures: Int) -> PINState {
        let (allowance, perRound) = (self.policy.allowance, self.policy.attemptsPerRound)
        guard failures < allowance else { return .open(attemptsLeft: 1, finalRound: true) }
        return .open(
            attemptsLeft: perRound - failures % perRound,
            finalRound: failures >= allowance - perRound
        )
    }

    func tolerance(over length: Int64) -> Int64 { self.clockTolerance.milliseconds + length / 2000 }
}
