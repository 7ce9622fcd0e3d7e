/// The rules of attempts: `rounds` of `attemptsPerRound` wrong PINs, a block after each round but the last, and a
/// permanent block after the last (flows.md PF2.8).
public struct AttemptPolicy: Hashable, Sendable {
    /// The number of rounds, `1...16`.
    public let rounds: Int
    /// The wrong PINs in a round, `1...16`.
    public let attemptsPerRound: Int
    /// The length of the block after each round but the last, each `0...31 days`.
    ///
    /// If there are fewer lengths than rounds, the last one applies to further rounds; without any, rounds end
    /// without a block.
    public let blocks: [Duration]

    /// The minimum and maximum number of rounds.
    public static let allowedRounds = 1...16
    /// The minimum and maximum number of wrong PINs in a round.
    public static let allowedAttempts = 1...16
    /// The longest allowed block: 31 days.
    public static let longestBlock: Duration = .seconds(31 * 24 * 3600)

    /// Returns nil if a number is out of range, or if there are more blocks than rounds that end in one.
    public init?(rounds: Int, attemptsPerRound: Int, blocks: [Duration]) {
        guard Self.allowedRounds.contains(rounds), Self.allowedAttempts.contains(attemptsPerRound),
            blocks.count <= rounds - 1, blocks.allSatisfy({ $0 >= .zero && $0 <= Self.longestBlock })
        else { return nil }
        self.rounds = rounds
        self.attemptsPerRound = attemptsPerRound
        self.blocks = blocks
    }

    /// Four rounds of four; blocks of one minute, five minutes and one hour, then permanently.
    public static let standard = AttemptPolicy(
        validRounds: 4,
        attemptsPerRound: 4,
        blocks: [.seconds(60), .seconds(300), .seconds(3600)]
    )

    private init(validRounds: Int, attemptsPerRound: Int, blocks: [Duration]) {
        self.rounds = validRounds
        self.attemptsPerRound = attemptsPerRound
        self.blocks = blocks
    }

    /// The maximum number of wrong PINs that are judged between two right ones.
    public var allowance: Int { self.rounds * self.attemptsPerRound }
}

/// The state of a wallet's attempts between two right PINs.
public enum PINState: Hashable, Sendable {
    /// A PIN may be tried. `attemptsLeft` counts the attempts left in this round, at least 1; the end of the final
    /// round is permanent.
    case open(attemptsLeft: Int, finalRound: Bool)
    /// No PIN is judged for `remaining`, at least a millisecond.
    case blocked(remaining: Duration)
    /// No PIN will ever be judged again; the only way out is a new registration.
    case blockedPermanently
}

/// The outcome of one PIN.
package enum PINVerdict: Hashable, Sendable {
    /// The PIN was right; all counts restart at zero.
    case valid
    /// The PIN was judged, counted and wrong; carries the state that follows.
    case wrong(PINState)
    /// The PIN was not judged and did not cost an attempt, because the wallet is blocked.
    case blocked(remaining: Duration)
    /// The PIN was not judged, because the wallet is permanently blocked.
    case blockedPermanently
}
