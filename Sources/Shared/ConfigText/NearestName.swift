/// Finds the known name that is most similar to a mistyped one.
package enum NearestName {
    /// Returns the candidate with the smallest edit distance to the name.
    ///
    /// Returns nil if the distance is greater than both 2 and a third of the candidate's length.
    package static func to(_ name: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { candidate in
            let edits = Self.edits(from: Array(name), to: Array(candidate))
            return (name: candidate, edits: edits, shared: zip(name, candidate).prefix { $0 == $1 }.count)
        }
        // If two names are equally close, prefer the one with the longer common prefix. For `of`, this suggests `off`
        // rather than `on`.
        let best = ranked.min { $0.edits == $1.edits ? $0.shared > $1.shared : $0.edits < $1.edits }
        guard let best else { return nil }
        return best.edits <= max(2, best.name.count / 3) ? best.name : nil
    }

    /// Returns the end of an error message about an unknown name.
    ///
    /// It suggests the nearest known name. If there is none, it lists all known names, unless there are too many or
    /// `isListed` is true.
    package static func hint(for name: String, among known: [String], isListed: Bool = false) -> String {
        if let nearest = Self.to(name, among: known) { return "; did you mean `\(nearest)`?" }
        return isListed || known.isEmpty || known.count > 40 ? "" : "; known are \(known.joined(separator: ", "))"
    }

    /// Returns the Levenshtein distance, computed row by row.
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
