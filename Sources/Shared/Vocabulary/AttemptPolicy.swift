/// The rules for attempts (PF2.8).
///
/// A wallet has `rounds` rounds of `attemptsPerRound` wrong PINs each. Every round ends with a block, which is
/// permanent after the last one.
public struct AttemptPolicy: Hashable, Sendable {
    /// The number of rounds, `1...16`.
    public let rounds: Int
    /// The number of wrong PINs in a round, `1...16`.
    public let attemptsPerRound: Int
    /// The lengths of the blocks after each round except the last, each in ``allowedBlocks``.
    ///
    /// If there are fewer lengths than rounds, the last length also applies to the remaining rounds. If there are none,
    /// rounds end without a block.
    public let blocks: [Duration]

    package static let allowedRounds = 1...16
    /// The minimum and maximum number of wrong PINs in a round.
    package static let allowedAttempts = 1...16
    /// The minimum and maximum length of a block.
    ///
    /// There is no block without a length, so a client that knows the lengths knows whether a block follows a round.
    package static let allowedBlocks: ClosedRange<Duration> = .milliseconds(1) ... .seconds(31 * 24 * 3600)

    /// Returns nil if a number is out of range, or if there are more blocks than rounds that end in one.
    package init?(rounds: Int, attemptsPerRound: Int, blocks: [Duration]) {
        guard Self.allowedRounds.contains(rounds), Self.allowedAttempts.contains(attemptsPerRound),
            blocks.count <= rounds - 1, blocks.allSatisfy(Self.allowedBlocks.contains)
        else { return nil }
        self.rounds = rounds
        self.attemptsPerRound = attemptsPerRound
        self.blocks = blocks
    }

    /// Four rounds of four attempts.
    ///
    /// The blocks are one minute, five minutes and one hour long, and then permanent.
    package static let standard = AttemptPolicy(
        validRounds: 4,
        attemptsPerRound: 4,
        blocks: [.seconds(60), .seconds(300), .seconds(3600)]
    )

    private init(validRounds: Int, attemptsPerRound: Int, blocks: [Duration]) {
        self.rounds = validRounds
        self.attemptsPerRound = attemptsPerRound
        self.blocks = blocks
    }

    /// The maximum number of wrong PINs that can be judged between two right ones.
    package var allowance: Int { self.rounds * self.attemptsPerRound }
}

/// The state of a wallet's attempts since the last right PIN.
package enum PINState: Hashable, Sendable {
    /// A PIN may be tried.
    ///
    /// `attemptsLeft` is the number of attempts left in this round, at least 1. If `finalRound` is true, the end of
    /// this round is permanent.
    case open(attemptsLeft: Int, finalRound: Bool)
    /// No PIN is judged for the remaining time, at least a millisecond.
    case blocked(remaining: Duration)
    /// No PIN will ever be judged again.
    ///
    /// The only way out is a new registration.
    case blockedPermanently
}

/// The verdict on a PIN.
package enum PINVerdict: Hashable, Sendable {
    /// The PIN was right.
    ///
    /// All counts restart at zero.
    case valid
    /// The PIN was judged, counted and wrong.
    ///
    /// The associated value is the new state.
    case wrong(PINState)
    /// The PIN was not judged and did not cost an attempt, because the wallet is blocked.
    case blocked(remaining: Duration)
    /// The PIN was not judged, because the wallet is permanently blocked.
    case blockedPermanently
}

/// The counts of a wallet's judged attempts, as OpenSession states them.
///
/// Nothing signs them, so a wallet only shows them as a hint until a receipt confirms them. The encoding always has
/// ``byteCount`` bytes, so that its length does not depend on the attempts:
///
///     0–7     number of the wallet's judged attempts
///     8–9     wrong PINs since the last right one
///     10–17   time of the last of these wrong PINs, milliseconds since 1970, or 0 if there are none
///     18–25   the store's epoch
///
/// Numbers are big-endian.
package struct AttemptCounts: Hashable, Sendable {
    /// The number of the wallet's judged attempts, which a receipt of the last one also states.
    package var number: UInt64
    /// The number of wrong PINs since the last right one, without the charges of epochs.
    package var wrongPINs: Int
    /// The time of the last of these wrong PINs, or nil if there are none.
    package var lastWrong: Timestamp?
    /// The store's epoch, which starts at 1.
    package var epoch: UInt64

    package static let byteCount = 26

    package init(number: UInt64, wrongPINs: Int, lastWrong: Timestamp?, epoch: UInt64) {
        self.number = number
        self.wrongPINs = wrongPINs
        self.lastWrong = lastWrong
        self.epoch = epoch
    }

    /// Decodes only the output of ``encoded()``.
    package init?(decoding bytes: [UInt8]) {
        guard bytes.count == Self.byteCount, let lastWrong = Int64(exactly: bytes[10..<18].bigEndian)
        else { return nil }
        self.number = bytes[0..<8].bigEndian
        self.wrongPINs = Int(bytes[8..<10].bigEndian)
        self.lastWrong = lastWrong == 0 ? nil : Timestamp(milliseconds: lastWrong)
        self.epoch = bytes[18..<26].bigEndian
    }

    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(bigEndian: self.number, byteCount: 8)
        bytes.append(bigEndian: UInt64(clamping: self.wrongPINs), byteCount: 2)
        bytes.append(bigEndian: UInt64(clamping: self.lastWrong?.milliseconds ?? 0), byteCount: 8)
        bytes.append(bigEndian: self.epoch, byteCount: 8)
        return bytes
    }
}
