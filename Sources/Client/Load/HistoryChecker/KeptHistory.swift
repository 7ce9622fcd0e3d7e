internal import Vocabulary

/// What a history holds between two runs: sixteen bytes for a wallet.
///
///     0       form, 1
///     1       bit 0: may be unblocked · bit 1: may be in a block · bit 2: may be blocked for good · bit 3: PIN key unknown
///     2–3     fewest wrong PINs counted
///     4–5     most
///     6–11    earliest end of the block, milliseconds since 1970
///     12–15   how much later it may end, milliseconds
///
/// Numbers are big-endian. All zero is a wallet of which nothing was ever kept: a fresh one.
package struct KeptHistory: Hashable, Sendable {
    package static let byteCount = 16

    /// Bytes 0 to 7, the first the most significant.
    package let first: UInt64
    /// Bytes 8 to 15.
    package let second: UInt64

    /// A wallet to which nothing was sent yet.
    package static let fresh = KeptHistory(first: 0, second: 0)

    /// A wallet of which anything may be true.
    package static let everything = KeptHistory(first: .max, second: .max)

    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Reads the bytes of ``bytes``; nil where there are not sixteen.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        func word(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(first: word(bytes[..<8]), second: word(bytes[8...]))
    }

    package var bytes: [UInt8] {
        [self.first, self.second].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
        }
    }

    private static let form: UInt64 = 1
    private static let mostFailures = Int(UInt16.max)

    /// The states that this stands for; everything where it is not of a known form.
    func states(_ rules: OracleRules, generation: Int) -> [PossibleState] {
        if self == .fresh { return [PossibleState(generation: generation)] }
        guard self.first >> 56 == Self.form else { return PossibleState.all(rules) }
        let flags = self.first >> 48 & 0xFF
        let known = flags & 8 == 0 ? generation : nil
        let allowance = rules.policy.allowance
        let fewest = min(allowance, Int(self.first >> 32 & 0xFFFF))
        let most = min(allowance, Int(self.first >> 16 & 0xFFFF))
        let earliest = Int64((self.first & 0xFFFF) << 32 | self.second >> 32)
        let latest = earliest + Int64(self.second & 0xFFFF_FFFF)
        let span =
            self.first & 0xFFFF == 0 && self.second == 0
            ? BlockSpan.unknown : BlockSpan(earliest: earliest, latest: latest, length: nil)
        var states: [PossibleState] = []
        for failures in fewest...max(fewest, most) {
            if flags & 1 != 0 { states.append(PossibleState(failures: failures, generation: known)) }
            if flags & 2 != 0, failures > 0 {
                states.append(PossibleState(failures: failures, block: span, generation: known))
            }
        }
        if flags & 4 != 0 {
            states.append(PossibleState(failures: allowance, isPermanent: true, generation: known))
        }
        return states.isEmpty ? PossibleState.all(rules) : states
    }

    /// Holds all of these states, and more where sixteen bytes are too few to tell them apart.
    init(_ states: [PossibleState], generation: Int) {
        var flags: UInt64 = 0
        var span: BlockSpan?
        for state in states {
            flags |= state.isPermanent ? 4 : state.block == nil ? 1 : 2
            if state.generation != generation { flags |= 8 }
            if let block = state.block { span = span?.hull(with: block) ?? block }
        }
        let counts = states.filter { !$0.isPermanent }.map { UInt64(min($0.failures, Self.mostFailures)) }
        var (end, width): (UInt64, UInt64) = (0, 0)
        if let span, span.earliest > 0, span.latest < 1 << 47, span.latest - span.earliest <= Int64(UInt32.max) {
            (end, width) = (UInt64(span.earliest), UInt64(span.latest - span.earliest))
        }
        let (fewest, most) = (counts.min() ?? 0, counts.max() ?? 0)
        self.init(
            first: Self.form << 56 | flags << 48 | fewest << 32 | most << 16 | end >> 32,
            second: (end & 0xFFFF_FFFF) << 32 | width
        )
    }
}
