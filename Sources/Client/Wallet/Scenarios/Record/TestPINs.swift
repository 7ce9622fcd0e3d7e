internal import WalletFlows

/// Test PINs in place of typed ones: the same for the same PIN, and as weak as it.
///
/// A recording must not contain a PIN that a person uses elsewhere. The typed PINs are kept in memory while the
/// recording runs, to recognize the same PIN; a recording works only against a lab.
struct TestPINs {
    private var known: [(entry: PINEntry, text: String)] = []

    /// The digits to write for an input.
    mutating func text(for input: PINInput) -> String {
        guard case .complete(let entry) = input else {
            // Never compared with another PIN, so that its length and characters are the only relation to keep.
            return if case .malformed(.digitsOnly) = input { "02479x" } else { "02479" }
        }
        if let (_, text) = self.known.first(where: { $0.entry.isEqual(to: entry) }) { return text }
        let used = self.known.filter { $0.entry.brokenRule == entry.brokenRule }.count
        let candidates = Self.candidates(entry.brokenRule)
        // There are as many candidates as PINs that break the rule, and a thousand of the others.
        let text = candidates[min(used, candidates.count - 1)]
        // The caller's entry is wiped when the flows release it; this one lives as long as the recording.
        if case .complete(let copy) = input.enteredAgain() { self.known.append((copy, text)) }
        return text
    }

    /// The test PINs that break a rule for new PINs, or none.
    private static func candidates(_ rule: PINRule?) -> [String] {
        let all: [String] =
            switch rule {
            case .some(.differentDigits): (0...9).map { String(repeating: "\($0)", count: 6) }
            case .some(.notAscending): (0...4).map { start in (start...(start + 5)).map { "\($0)" }.joined() }
            case .some(.notDescending): (5...9).map { start in (0...5).map { "\(start - $0)" }.joined() }
            case .some(.sixCharacters), .some(.digitsOnly), .none:
                (0..<1000).map { number in
                    let digits = "\((24_791 + number * 111_053) % 1_000_000)"
                    return String(repeating: "0", count: 6 - digits.count) + digits
                }
            }
        return all.filter { text in
            guard case .complete(let entry) = PINInput(typed: text.utf8) else { return false }
            return entry.brokenRule == rule
        }
    }
}
