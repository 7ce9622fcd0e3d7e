internal import ConfigText

/// Counts and rates as testers write them, for example `500`, `10k`, `1M` or `2.5k/s`.
package enum CountText {
    private static let suffixes: [(letter: Character, factor: Double)] = [("k", 1e3), ("K", 1e3), ("M", 1e6)]
    /// The largest accepted number.
    ///
    /// It is beyond any machine's capacity, yet small enough that no arithmetic overflows.
    package static let largest = 1e9

    /// Parses a number with an optional suffix.
    ///
    /// Signs and exponents are not accepted.
    package static func readNumber(_ text: some StringProtocol) -> Double? {
        var digits = text[...]
        var factor = 1.0
        if let last = digits.last, let suffix = Self.suffixes.first(where: { $0.letter == last }) {
            factor = suffix.factor
            digits = digits.dropLast()
        }
        guard let first = digits.first, first.isASCII, first.isNumber,
            digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            let number = Double(digits), number * factor <= Self.largest
        else { return nil }
        return number * factor
    }

    /// Parses a whole number.
    package static func readCount(_ text: some StringProtocol) -> Int? {
        Self.readNumber(text).flatMap { $0 == $0.rounded() ? Int($0) : nil }
    }

    /// Returns the shortest text that parses to the same number.
    package static func write(_ number: Double) -> String {
        for (letter, factor) in [("M", 1e6), ("k", 1e3)] where number >= factor {
            let scaled = number / factor
            if scaled * 1000 == (scaled * 1000).rounded() { return "\(Self.plain(scaled))\(letter)" }
        }
        return Self.plain(number)
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}

/// Parses the names of choices in options.
package enum NameText {
    /// Parses the name of a choice.
    ///
    /// - Parameter place: The option name, for error messages.
    package static func read<Choice: RawRepresentable<String> & CaseIterable>(
        _ text: String,
        place: String
    ) throws(PlanProblem) -> Choice {
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        let hint = NearestName.hint(for: text, among: names, isListed: true)
        throw PlanProblem(place: place, "`\(text)` is not one of \(names.joined(separator: ", "))\(hint)")
    }
}
