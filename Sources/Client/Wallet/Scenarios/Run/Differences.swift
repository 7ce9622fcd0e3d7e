/// Collects the differences between expected and actual values over several comparisons.
struct Differences {
    private(set) var all: [ScenarioResult.Difference] = []

    mutating func add(_ what: String, _ expected: String, _ seen: String) {
        self.all.append(.init(what: what, expected: expected, seen: seen))
    }

    /// Records a difference.
    ///
    /// Does nothing if no value is expected.
    mutating func compare<Thing: Equatable & CustomStringConvertible>(
        _ what: String,
        _ expected: Thing?,
        _ seen: Thing?
    ) {
        guard let expected, expected != seen else { return }
        self.add(what, expected.description, seen?.description ?? "none")
    }

    mutating func contains(_ what: String, _ expected: String, _ seen: String) {
        guard !seen.contains(expected) else { return }
        self.add(what, "… \(expected) …", seen.isEmpty ? "nothing" : seen)
    }

    /// Compares a value with an exact string, a range of numbers, or a regular expression between slashes.
    mutating func match(_ what: String, _ expected: String, _ seen: String?) {
        guard let seen else { return self.add(what, expected, "none") }
        if !ValuePattern(expected).matches(seen) { self.add(what, expected, seen) }
    }

    /// Throws the collected differences, if there are any.
    func report(_ message: String) throws(StepProblem) {
        guard self.all.isEmpty else { throw .failed(message, self.all) }
    }

    /// Returns two traces side by side, starting two steps before the first difference.
    static func ofTraces(_ expected: [String], _ seen: [String]) -> [ScenarioResult.Difference] {
        let common = zip(expected, seen).prefix { $0 == $1 }.count
        let start = max(0, common - 2)
        return (start..<max(expected.count, seen.count)).map { index in
            let left = index < expected.count ? expected[index] : "(the end)"
            let right = index < seen.count ? seen[index] : "(the end)"
            return .init(what: "step \(index + 1)\(left == right ? "" : " ≠")", expected: left, seen: right)
        }
    }
}

/// An expected value: an exact string, a range like `1..60`, or a regular expression like `/[0-9]+/`.
enum ValuePattern {
    case exactly(String)
    case range(ClosedRange<Int64>)
    case pattern(String)

    init(_ text: String) {
        if text.count > 1, text.hasPrefix("/"), text.hasSuffix("/") {
            self = .pattern(String(text.dropFirst().dropLast()))
        } else if let range = Self.range(text) {
            self = .range(range)
        } else {
            self = .exactly(text)
        }
    }

    /// Whether the regular expression can be compiled, and the range is not empty.
    ///
    /// True for all other patterns.
    var isValid: Bool {
        switch self {
        case .exactly(let text): text.wholeMatch(of: /-?[0-9]+\.\.-?[0-9]+/) == nil
        case .range: true
        case .pattern(let pattern): (try? Regex(pattern)) != nil
        }
    }

    func matches(_ text: String) -> Bool {
        switch self {
        case .exactly(let expected): return text == expected
        case .range(let range): return Int64(text).map(range.contains) ?? false
        case .pattern(let pattern):
            guard let regex = try? Regex(pattern) else { return false }
            return text.wholeMatch(of: regex) != nil
        }
    }

    private static func range(_ text: String) -> ClosedRange<Int64>? {
        let parts = text.split(separator: "..", maxSplits: 1).map(String.init)
        guard parts.count == 2, let low = Int64(parts[0]), let high = Int64(parts[1]), low <= high else { return nil }
        return low...high
    }
}
