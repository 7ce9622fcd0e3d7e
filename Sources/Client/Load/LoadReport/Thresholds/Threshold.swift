/// A condition that a run has to meet: `p99<20ms`, `errors<0.1%`, `check.valid>1000`.
package struct Threshold: Sendable, Equatable {
    /// How the figure stands to the limit.
    package enum Relation: String, Sendable, CaseIterable {
        case atMost = "<="
        case atLeast = ">="
        case equal = "=="
        case unequal = "!="
        case less = "<"
        case more = ">"

        /// Whether `value` stands so to `limit`.
        func holds(_ value: Double, _ limit: Double) -> Bool {
            switch self {
            case .atMost: value <= limit
            case .atLeast: value >= limit
            case .equal: value == limit
            case .unequal: value != limit
            case .less: value < limit
            case .more: value > limit
            }
        }
    }

    /// As it was written, without spaces.
    package let text: String
    let metric: Metric
    let relation: Relation
    /// In the metric's own unit: µs, a share of 1, a count, per second, bytes.
    let limit: Double
    let isShare: Bool

    /// The figure that is held against the limit, in the metric's unit; nil while nothing was measured.
    package func value(of totals: Totals) -> Double? { self.metric.value(of: totals, asShare: self.isShare) }

    /// Whether it holds so far; nil while nothing was measured.
    package func isMet(by totals: Totals) -> Bool? {
        self.value(of: totals).map { self.relation.holds($0, self.limit) }
    }

    /// The figure as people read it, in the unit of the limit.
    package func valueText(of totals: Totals) -> String {
        self.value(of: totals).map { self.metric.text($0, asShare: self.isShare) } ?? "not measured"
    }

    /// Whether nothing that still comes can make it hold again: a count that only grows is beyond its limit.
    ///
    /// A run that ends at the first failure (`--abort-on-fail`) may end at once for these; a rate or a percentile can recover and should
    /// have failed for a while.
    package func isLost(by totals: Totals) -> Bool {
        guard self.metric.onlyGrows, !self.isShare, let value = self.value(of: totals) else { return false }
        return switch self.relation {
        case .less: value >= self.limit
        case .atMost, .equal: value > self.limit
        case .more, .atLeast, .unequal: false
        }
    }

    /// Whether it does not hold yet and still may: a count that only grows is on its way to its limit.
    package func isPending(by totals: Totals) -> Bool {
        self.metric.onlyGrows && !self.isShare && self.isMet(by: totals) == false && !self.isLost(by: totals)
    }
}

/// What became of a threshold.
package struct ThresholdResult: Sendable, Equatable, Codable {
    /// What a threshold found.
    package enum Verdict: String, Sendable, Codable {
        /// The condition holds.
        case met
        /// It does not.
        case failed
        /// The figure does not exist: a percentile of no samples. Not met either, so that a run that did nothing cannot pass.
        case unmeasured
    }

    /// As it was asked for.
    package let text: String
    /// The figure as people read it.
    package let value: String
    package let verdict: Verdict

    /// Holds a run's sums against `threshold`.
    package init(_ threshold: Threshold, of totals: Totals) {
        self.text = threshold.text
        self.value = threshold.valueText(of: totals)
        self.verdict = threshold.isMet(by: totals).map { $0 ? .met : .failed } ?? .unmeasured
    }
}
