/// How many wrong PINs are allowed and what follows them: `rounds` of `attemptsPerRound`, a block after each round but
/// the last, a permanent block after the last (flows.md PF2.8).
public struct AttemptPolicy: Hashable, Sendable {
    /// `1...16`.
    public let rounds: Int
    /// `1...16`.
    public let attemptsPerRound: Int
    /// The block after each round but the last, each `0...31 days`.
    ///
    /// Where there are fewer, the last one serves the further rounds; where there are none, a round ends without one.
    public let blocks: [Duration]

    public static let allowedRounds = 1...16
    public static let allowedAttempts = 1...16
    public static let longestBlock: Duration = .seconds(31 * 24 * 3600)

    /// Nil where a number is outside its range or there are more blocks than rounds that end in one.
    public init?(rounds: Int, attemptsPerRound: Int, blocks: [Duration]) {
        guard Self.allowedRounds.contains(rounds), Self.allowedAttempts.contains(attemptsPerRound),
            blocks.count <= rounds - 1, blocks.allSatisfy({ $0 >= .zero && $0 <= Self.longestBlock })
        else { return nil }
        self.rounds = rounds
        self.attemptsPerRound = attemptsPerRound
        self.blocks = blocks
    }

    /// Four rounds of four; one minute, five minutes, one hour, then for good.
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

    /// The most wrong PINs that are ever judged between two right ones.
    public var allowance: Int { self.rounds * self.attemptsPerRound }
}

/// Where a wallet stands between two right PINs.
public enum PINState: Hashable, Sendable {
    /// A PIN may be tried. `attemptsLeft` are those of this round, at least 1; the end of the final round is permanent.
    case open(attemptsLeft: Int, finalRound: Bool)
    /// No PIN is judged for `remaining`, at least a millisecond.
    case blocked(remaining: Duration)
    /// No PIN is ever judged again; only a new registration helps.
    case blockedPermanently
}

/// What became of one PIN.
public enum PINVerdict: Hashable, Sendable {
    /// It was the right one; every count starts anew.
    case valid
    /// It was judged, counted and not the right one; the state that follows.
    case wrong(PINState)
    /// It was not judged and cost nothing: the wallet is in a block.
    case blocked(remaining: Duration)
    /// It was not judged: the wallet is blocked for good.
    case blockedPermanently
}
