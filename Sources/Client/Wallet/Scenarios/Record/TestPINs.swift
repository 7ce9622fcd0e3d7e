internal import WalletFlows

/// Replaces the PINs a person types with test PINs.
///
/// The same PIN always gets the same replacement, which breaks the same PIN rule, if any.
///
/// A recording must never contain a PIN that the person also uses elsewhere. To recognize repeated PINs, the typed ones
/// are kept in memory while the recording is in progress. Recording is possible only with a lab.
struct TestPINs {
    private var known: [(entry: PINEntry, text: String)] = []

    /// - Parameter texts: Test PINs of an existing recording, which stand for themselves.
    init(known texts: [String] = []) {
        self.known = texts.compactMap { text in
            guard case .complete(let entry) = PINInput(typed: text.utf8) else { return nil }
            return (entry, text)
        }
    }

    /// Returns the digits to record for an input.
    mutating func text(for input: PINInput) -> String {
        guard case .complete(let entry) = input else {
            // An incomplete PIN is never compared with another one, so only its kind matters.
            return if case .malformed(.digitsOnly) = input { "02479x" } else { "02479" }
        }
        if let (_, text) = self.known.first(where: { $0.entry.isEqual(to: entry) }) { return text }
        let used = Set(self.known.map(\.text))
        let candidates = Self.candidates(entry.brokenRule)
        // Each rule has as many candidates as PINs that break it, and a thousand candidates break no rule.
        let text = candidates.first { !used.contains($0) } ?? candidates[candidates.count - 1]
        // The caller's entry is wiped once the flows release it. This copy lasts until the recording ends.
        if case .complete(let copy) = input.enteredAgain() { self.known.append((copy, text)) }
        return text
    }

    /// Returns test PINs that break the given rule for new PINs, or no rule if it is nil.
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
