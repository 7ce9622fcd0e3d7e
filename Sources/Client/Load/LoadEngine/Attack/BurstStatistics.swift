internal import Foundation

/// Statistics on bursts: how often the right guess was accepted, compared with how often the policy allows it.
package struct BurstStatistics: Hashable, Sendable {
    package let size: Int
    /// The number of attempts per round.
    package let attempts: Int
    /// The number of bursts with a response to the right guess.
    package private(set) var bursts = 0
    /// The number of bursts in which the right guess was accepted.
    package private(set) var timesIn = 0
    /// The number of bursts with at least one missing response.
    package private(set) var incomplete = 0
    /// The number of bursts without a response to the right guess.
    ///
    /// They are excluded from the fraction.
    package private(set) var unknown = 0
    /// The number of judged guesses in each burst.
    ///
    /// If a burst is incomplete, this is a lower bound.
    private var judged: [Int] = []
    private var spreads: [Duration] = []
    private var together: [Double] = []

    /// The significance level: how often a correct server would be wrongly accused.
    package static let suspicion = 0.001

    package init(size: Int, attempts: Int) {
        self.size = size
        self.attempts = attempts
    }

    /// Whether any burst was sent, with or without responses.
    package var hasBursts: Bool { self.bursts + self.unknown > 0 }

    /// The fraction of bursts in which an atomic limit accepts a right guess at a random position.
    ///
    /// Only wrong guesses precede it, so it is judged if and only if it is among the first guesses of a round's size.
    package var bound: Double { min(1, Double(self.attempts) / Double(self.size)) }

    package var share: Double { self.bursts == 0 ? 0 : Double(self.timesIn) / Double(self.bursts) }

    /// The largest number of guesses that may be judged in a burst: one less than a round before the right guess, the
    /// right guess itself, and a whole round after it.
    package var mostAllowed: Int { min(self.size, 2 * self.attempts) }

    /// The Wilson score interval with 95% confidence.
    package var interval: ClosedRange<Double> {
        guard self.bursts > 0 else { return 0...1 }
        let (count, z) = (Double(self.bursts), 1.959_964)
        let middle = (self.share + z * z / (2 * count)) / (1 + z * z / count)
        let half =
            z / (1 + z * z / count)
            * (self.share * (1 - self.share) / count + z * z / (4 * count * count)).squareRoot()
        return max(0, middle - half)...min(1, middle + half)
    }

    /// The probability of this many or more accepted guesses if the true fraction is the bound.
    package var probability: Double {
        guard self.timesIn > 0, self.bound < 1 else { return 1 }
        let (count, bound) = (self.bursts, self.bound)
        var sum = 0.0
        for times in self.timesIn...count {
            let ways = lgamma(Double(count) + 1) - lgamma(Double(times) + 1) - lgamma(Double(count - times) + 1)
            sum += exp(ways + Double(times) * log(bound) + Double(count - times) * log(1 - bound))
        }
        return min(1, sum)
    }

    /// Whether the server accepts more than the policy allows.
    package var isExcessive: Bool {
        self.probability < Self.suspicion || (self.judged.max() ?? 0) > self.mostAllowed
    }

    /// The conclusion drawn from an attack.
    package enum Finding: Hashable, Sendable {
        /// No burst was sent.
        case none
        /// The server accepts more than the policy allows.
        case excessive
        /// No response to a right guess arrived.
        ///
        /// The attack proves nothing, and in particular not that the server withstood it.
        case unanswered
        /// A burst is not larger than a round, so the server cannot accept too many guesses from it.
        case noLimit
        /// Even a server that accepts far too much could have had this result by chance.
        case tooFew
        /// A server that accepts far too much would have been detected.
        case withinBound
    }

    /// The conclusion drawn from these bursts.
    package var finding: Finding {
        if self.isExcessive { return .excessive }
        if self.bursts == 0 { return self.unknown > 0 ? .unanswered : .none }
        if self.bound == 1 { return .noLimit }
        return self.interval.upperBound > self.farTooMany ? .tooFew : .withinBound
    }

    /// The fraction that bursts must rule out before they count as evidence in favor of a server: twice the bound, or
    /// halfway between the bound and 1 if that is less.
    ///
    /// The bound itself cannot be used, because it is the fraction of a correct server, and half of all intervals
    /// exceed it.
    package var farTooMany: Double { min(2 * self.bound, (1 + self.bound) / 2) }

    mutating func add(_ result: BurstResult) {
        if result.isRightUnknown {
            self.unknown += 1
            self.judged.append(result.judged)
        } else {
            self.add(isRightIn: result.isRightIn, judged: result.judged)
        }
        guard result.failed == 0 else {
            self.incomplete += 1
            return
        }
        self.spreads.append(result.spread)
        self.together.append(Double(result.wroteBeforeAnswer) / Double(max(1, result.wrote)))
    }

    /// Counts one burst.
    mutating func add(isRightIn: Bool, judged: Int) {
        self.bursts += 1
        if isRightIn { self.timesIn += 1 }
        self.judged.append(judged)
    }
}

extension BurstStatistics {
    /// Returns the table for the report.
    func section(_ plan: BurstPlan) -> ReportSection {
        let mean = self.judged.isEmpty ? 0 : Double(self.judged.reduce(0, +)) / Double(self.judged.count)
        var rows: [(name: String, value: ReportSection.Value)] = [
            ("guesses per burst", .count(self.size)),
            ("connections", .count(plan.connections)),
            ("bursts", .count(self.bursts + self.unknown)),
            ("bursts with a lost answer", .count(self.incomplete)),
            ("bursts without the right guess's answer", .count(self.unknown)),
            ("right guess accepted", .count(self.timesIn)),
            ("share accepted", .share(self.share)),
            ("95% interval, lower end", .share(self.interval.lowerBound)),
            ("95% interval, upper end", .share(self.interval.upperBound)),
            ("share allowed by the policy", .share(self.bound)),
            ("p-value under the policy", .number(self.probability)),
            ("fewest guesses judged per burst", .count(self.judged.min() ?? 0)),
            ("mean of guesses judged per burst", .number(mean)),
            ("most guesses judged per burst", .count(self.judged.max() ?? 0)),
            ("most guesses allowed per burst", .count(self.mostAllowed)),
        ]
        if let spread = Self.median(self.spreads), let together = Self.median(self.together) {
            rows.append(("median time from first to last write", .micros(Int64(spread / .microseconds(1)))))
            rows.append(("median share written before the first answer", .share(together)))
        }
        return ReportSection(
            title: "Bursts of guesses",
            summary: self.sentence,
            columns: ["quantity", "value"],
            rows: rows.map { [.text($0.name), $0.value] },
            verdict: self.verdict
        )
    }

    private var verdict: ReportSection.Verdict {
        switch self.finding {
        case .excessive, .unanswered: .failed
        case .none, .noLimit, .tooFew: .neutral
        case .withinBound: .passed
        }
    }

    package var sentence: String {
        let measured =
            "the right guess was accepted in \(self.timesIn) of \(self.bursts) bursts (\(Self.percent(self.share)))"
        let allowed = "the policy allows \(Self.percent(self.bound))"
        switch self.finding {
        case .excessive: return "MORE THAN ALLOWED: \(measured); \(allowed)"
        case .none, .unanswered: return "NO RESULT: no response to the right guess arrived"
        case .noLimit:
            return "NO LIMIT TESTED: a round allows all \(self.size) guesses of a burst; send more than "
                + "\(self.attempts) at once"
        case .tooFew:
            return "TOO FEW BURSTS: \(measured), so the true share may be \(Self.percent(self.interval.upperBound)); "
                + "\(allowed); repeat it more often"
        case .withinBound: return "no more than allowed: \(measured); \(allowed)"
        }
    }

    private static func median<Value: Comparable>(_ values: [Value]) -> Value? {
        values.isEmpty ? nil : values.sorted()[values.count / 2]
    }

    private static func percent(_ share: Double) -> String { "\(self.plain(share * 100))%" }

    private static func plain(_ number: Double) -> String {
        let places = number >= 0.1 || number == 0 ? 1 : 6
        return String(format: "%.\(places)f", number)
    }
}
