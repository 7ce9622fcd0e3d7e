internal import Vocabulary

/// The state of a wallet's history between two runs, encoded in sixteen bytes.
///
///     first   bits 63–56  format, 1
///             bits 55–48  flags: 1 may be open · 2 may be blocked · 4 may be blocked permanently · 8 PIN key unknown
///             bits 47–32  smallest possible count of wrong PINs
///             bits 31–16  largest
///             bits 15–0   earliest end of the block, milliseconds since 1970: upper 16 of 48 bits
///     second  bits 63–32  lower 32 bits
///             bits 31–0   difference to the latest end, milliseconds
///
/// All zeros stand for a newly registered wallet.
package struct HistorySummary: Hashable, Sendable {
    package let first: UInt64
    package let second: UInt64

    /// A wallet that has not performed any operations yet.
    package static let fresh = HistorySummary(first: 0, second: 0)

    /// A wallet in an unknown state.
    package static let unknown = HistorySummary(first: .max, second: .max)

    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    private static let format: UInt64 = 1
    private static let maxFailures = Int(UInt16.max)

    /// Returns the possible states.
    ///
    /// If the format is unknown, these are all states.
    func states(_ rules: CheckerRules, generation: Int) -> [ModelState] {
        if self == .fresh { return [ModelState(generation: generation)] }
        guard self.first >> 56 == Self.format else { return ModelState.all(rules) }
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
        var states: [ModelState] = []
        for failures in fewest...max(fewest, most) {
            if flags & 1 != 0 { states.append(ModelState(failures: failures, generation: known)) }
            if flags & 2 != 0, failures > 0 {
                states.append(ModelState(failures: failures, block: span, generation: known))
            }
        }
        if flags & 4 != 0 {
            states.append(ModelState(failures: allowance, isPermanent: true, generation: known))
        }
        return states.isEmpty ? ModelState.all(rules) : states
    }

    /// Creates a summary that covers all of these states.
    ///
    /// It may cover more, if sixteen bytes cannot tell them apart.
    init(_ states: [ModelState], generation: Int) {
        var flags: UInt64 = 0
        var span: BlockSpan?
        for state in states {
            flags |= state.isPermanent ? 4 : state.block == nil ? 1 : 2
            if state.generation != generation { flags |= 8 }
            if let block = state.block { span = span?.hull(with: block) ?? block }
        }
        let counts = states.filter { !$0.isPermanent }.map { UInt64(min($0.failures, Self.maxFailures)) }
        var (end, width): (UInt64, UInt64) = (0, 0)
        if let span, span.earliest > 0, span.latest < 1 << 47, span.latest - span.earliest <= Int64(UInt32.max) {
            (end, width) = (UInt64(span.earliest), UInt64(span.latest - span.earliest))
        }
        let (fewest, most) = (counts.min() ?? 0, counts.max() ?? 0)
        self.init(
            first: Self.format << 56 | flags << 48 | fewest << 32 | most << 16 | end >> 32,
            second: (end & 0xFFFF_FFFF) << 32 | width
        )
    }
}
