/// A condition on a metric of a run, for example `p99<20ms`, `errors<0.1%` or `check.valid>1000`.
package struct Threshold: Sendable, Equatable {
    /// The required relation of the value to the limit.
    package enum Relation: String, Sendable, CaseIterable {
        case atMost = "<="
        case atLeast = ">="
        case equal = "=="
        case unequal = "!="
        case less = "<"
        case more = ">"

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

    /// The threshold as written, without spaces.
    package let text: String
    let metric: Metric
    let relation: Relation
    /// The limit in the metric's unit: µs, a fraction, a count, a rate per second, or bytes.
    let limit: Double
    let isShare: Bool

    /// Returns the value in the metric's unit, or nil if nothing was measured.
    package func value(of totals: Totals) -> Double? { self.metric.value(of: totals, asShare: self.isShare) }

    /// Returns whether the condition is met so far, or nil if nothing was measured.
    package func isMet(by totals: Totals) -> Bool? {
        self.value(of: totals).map { self.relation.holds($0, self.limit) }
    }

    /// Returns the value with its unit.
    package func valueText(of totals: Totals) -> String {
        self.value(of: totals).map { self.metric.text($0, asShare: self.isShare) } ?? "not measured"
    }

    /// Returns whether the condition can no longer be met, because a value that never decreases exceeds its limit.
    ///
    /// With `--abort-on-fail`, such a threshold ends the run at once. A rate or percentile can recover, so it ends the
    /// run only after several intervals.
    package func isLost(by totals: Totals) -> Bool {
        guard self.metric.onlyGrows, !self.isShare, let value = self.value(of: totals) else { return false }
        return switch self.relation {
        case .less: value >= self.limit
        case .atMost, .equal: value > self.limit
        case .more, .atLeast, .unequal: false
        }
    }

    /// Returns whether the condition is not met yet but still can be, because a value that never decreases is below its
    /// limit.
    package func isPending(by totals: Totals) -> Bool {
        self.metric.onlyGrows && !self.isShare && self.isMet(by: totals) == false && !self.isLost(by: totals)
    }
}

/// The result of evaluating a threshold.
package struct ThresholdResult: Sendable, Equatable, Codable {
    package enum Verdict: String, Sendable, Codable {
        case met
        case failed
        /// The run has no measurement for the threshold.
        ///
        /// This counts as not met.
        case unmeasured
    }

    /// The threshold as written.
    package let text: String
    /// The value with its unit.
    package let value: String
    package let verdict: Verdict

    /// Evaluates `threshold`.
    package init(_ threshold: Threshold, of totals: Totals) {
        self.text = threshold.text
        self.value = threshold.valueText(of: totals)
        self.verdict = threshold.isMet(by: totals).map { $0 ? .met : .failed } ?? .unmeasured
    }
}
