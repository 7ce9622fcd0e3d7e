package import Vocabulary

/// The rules that a server's responses are checked against.
///
/// All wallets in a run share one instance.
package final class CheckerRules: Sendable {
    /// The policy from the server's Hello.
    package let policy: AttemptPolicy
    /// The allowed difference between the server's clock and the run's, in addition to 1/2000 of the measured time.
    package let clockTolerance: Duration
    /// The longest time after which an operation without a response may still take effect.
    ///
    /// If the server has already read a request, closing the connection does not undo it.
    package let lateEffect: Duration

    /// Creates rules with a tolerance for the ends of blocks, to avoid false alarms if a clock is adjusted over the
    /// network.
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

extension CheckerRules {
    /// Returns the length in milliseconds of the block that begins after this many wrong PINs, or 0 if none begins.
    func blockLength(after failures: Int) -> Int64 {
        guard failures.isMultiple(of: self.policy.attemptsPerRound), let last = self.policy.blocks.last else {
            return 0
        }
        let round = failures / self.policy.attemptsPerRound
        return max(0, (round <= self.policy.blocks.count ? self.policy.blocks[round - 1] : last).milliseconds)
    }

    /// Returns the state that an unblocked wallet reports after this many wrong PINs.
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
