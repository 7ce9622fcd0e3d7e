/// Finds what a mistyped name was meant to be.
///
/// The server's settings, a phone's profile and a scenario all refuse a wrong name with it.
package enum NearestName {
    /// The candidate that the fewest edits lead to; nil when even that one takes more than a third of its length.
    package static func to(_ name: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (name: $0, edits: Self.edits(from: Array(name), to: Array($0))) }
        guard let best = ranked.min(by: { $0.edits < $1.edits }) else { return nil }
        return best.edits <= max(2, best.name.count / 3) ? best.name : nil
    }

    /// Levenshtein's distance, one row at a time.
    static func edits(from source: [Character], to target: [Character]) -> Int {
        var previous = Array(0...target.count)
        for (row, character) in source.enumerated() {
            var current = [row + 1]
            for (column, other) in target.enumerated() {
                let replaced = previous[column] + (character == other ? 0 : 1)
                current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[target.count]
    }
}
