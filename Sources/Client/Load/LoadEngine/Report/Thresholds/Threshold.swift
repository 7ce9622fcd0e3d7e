internal import ConfigText

/// A condition on a metric of a run, for example `p99<20ms`, `errors<0.1%` or `check.valid>1000`.
package struct Threshold: Sendable, Equatable {
    /// The required relation of the value to the limit.
    enum Relation: String, Sendable, CaseIterable {
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
    let text: String
    let metric: Metric
    let relation: Relation
    /// The limit in the metric's unit: µs, a fraction, a count, a rate per second, or bytes.
    let limit: Double
    let isShare: Bool

    /// Returns the value in the metric's unit, or nil if nothing was measured.
    func value(of totals: Totals) -> Double? { self.metric.value(of: totals, asShare: self.isShare) }

    /// Returns whether the condition is met so far, or nil if nothing was measured.
    func isMet(by totals: Totals) -> Bool? {
        self.value(of: totals).map { self.relation.holds($0, self.limit) }
    }

    /// Returns the value with its unit.
    func valueText(of totals: Totals) -> String {
        self.value(of: totals).map { self.metric.text($0, asShare: self.isShare) } ?? "not measured"
    }

    /// Returns whether the condition can no longer be met, because a value that never decreases exceeds its limit.
    ///
    /// With `--abort-on-fail`, such a threshold ends the run at once. A rate or percentile can recover, so it ends the
    /// run only after several intervals.
    func isLost(by totals: Totals) -> Bool {
        guard self.metric.traits.onlyGrows, !self.isShare, let value = self.value(of: totals) else { return false }
        return switch self.relation {
        case .less: value >= self.limit
        case .atMost, .equal: value > self.limit
        case .more, .atLeast, .unequal: false
        }
    }

    /// Returns whether the condition is not met yet but still can be, because a value that never decreases is below its
    /// limit.
    func isPending(by totals: Totals) -> Bool {
        self.metric.traits.onlyGrows && !self.isShare && self.isMet(by: totals) == false && !self.isLost(by: totals)
    }
}

struct ThresholdResult: Sendable, Equatable, Codable {
    enum Verdict: String, Sendable, Codable {
        case met, failed
        /// The run has no measurement for the threshold.
        ///
        /// This counts as not met.
        case unmeasured
    }

    /// The threshold as written.
    let text: String
    /// The value with its unit.
    let value: String
    let verdict: Verdict

    init(_ threshold: Threshold, of totals: Totals) {
        self.text = threshold.text
        self.value = threshold.valueText(of: totals)
        self.verdict = threshold.isMet(by: totals).map { $0 ? .met : .failed } ?? .unmeasured
    }
}

/// A named measurement in a run.
struct Metric: Sendable, Equatable {
    enum Time: Sendable, Equatable {
        case percentile(Double)
        case min, max, mean
    }

    /// The quantity that is measured.
    enum Kind: Sendable, Equatable {
        /// The time since the operation was due.
        case latency(Time)
        /// The time since the operation was sent.
        case serviceTime(Time)
        /// Verdicts per second.
        case rate
        /// The number of operations that ended.
        case count
        /// The number of operations without a verdict.
        case errors
        case unexpected, violations, unsent
        case outcome(Outcome)
        /// The server's CPU time per operation.
        case serverCPU
        /// The server's peak resident memory.
        case serverMemory
    }

    enum Unit: Sendable, Equatable {
        /// Microseconds.
        case time
        case count, perSecond, bytes
    }

    /// The operation, or nil for all operations together.
    let operation: Operation?
    let kind: Kind

    /// The properties that all metrics of a kind have.
    struct Traits {
        let unit: Unit
        /// Whether the value can be given as a fraction of the operations.
        var canBeShare = false
        /// Whether the value can never decrease during a run.
        var onlyGrows = false
        /// Whether lower values are better, or nil if the metric is neither good nor bad.
        var lessIsBetter: Bool? = true
        /// Whether the metric does not exist for a single operation.
        var isOfWholeRun = false
    }

    var traits: Traits {
        switch self.kind {
        case .latency(let time), .serviceTime(let time): Traits(unit: .time, onlyGrows: time == .max)
        case .serverCPU: Traits(unit: .time, isOfWholeRun: true)
        case .rate: Traits(unit: .perSecond, lessIsBetter: false)
        case .count: Traits(unit: .count, onlyGrows: true, lessIsBetter: nil)
        case .outcome: Traits(unit: .count, canBeShare: true, onlyGrows: true, lessIsBetter: nil)
        case .errors, .unexpected: Traits(unit: .count, canBeShare: true, onlyGrows: true)
        case .unsent: Traits(unit: .count, canBeShare: true, onlyGrows: true, isOfWholeRun: true)
        case .violations: Traits(unit: .count, onlyGrows: true, isOfWholeRun: true)
        case .serverMemory: Traits(unit: .bytes, onlyGrows: true, isOfWholeRun: true)
        }
    }

    /// Returns the value in the metric's unit, or nil if nothing was measured.
    func value(of totals: Totals, asShare isShare: Bool = false) -> Double? {
        switch self.kind {
        case .latency(let time): Self.value(time, of: totals.figures(of: self.operation).latency)
        case .serviceTime(let time): Self.value(time, of: totals.figures(of: self.operation).serviceTime)
        case .rate: totals.rate(of: self.operation)
        case .violations: Double(totals.violations.count)
        case .unsent: Self.value(totals.unsent, of: totals.count + totals.unsent, isShare)
        case .serverCPU: totals.serverCPUMicrosecondsPerOperation
        case .serverMemory: totals.serverPeakResidentBytes.map { Double($0) }
        case .count: Double(totals.figures(of: self.operation).count)
        case .errors: self.value(of: totals, isShare, \.failures)
        case .unexpected: self.value(of: totals, isShare, \.unexpected)
        case .outcome(let outcome): self.value(of: totals, isShare) { $0.outcomes[outcome] ?? 0 }
        }
    }

    private func value(of totals: Totals, _ isShare: Bool, _ count: (OperationFigures) -> Int) -> Double? {
        let figures = totals.figures(of: self.operation)
        return Self.value(count(figures), of: figures.count, isShare)
    }

    /// Returns a part as a count or as a fraction of the whole.
    ///
    /// Returns nil if the whole is empty, because zero errors without any operations prove nothing.
    private static func value(_ part: Int, of whole: Int, _ isShare: Bool) -> Double? {
        guard whole > 0 else { return nil }
        return isShare ? Double(part) / Double(whole) : Double(part)
    }

    private static func value(_ time: Time, of latencies: Latencies) -> Double? {
        switch time {
        case .percentile(let percent): latencies.percentile(percent).map { Double($0) }
        case .min: latencies.min.map { Double($0) }
        case .max: latencies.max.map { Double($0) }
        case .mean: latencies.mean
        }
    }
}

extension Threshold {
    /// Parses a threshold such as `p99<20ms`.
    ///
    /// Spaces are ignored.
    package init(parsing text: String) throws(ThresholdError) {
        let text = String(text.filter { !$0.isWhitespace })
        guard let place = text.firstIndex(where: { "<>=!".contains($0) }),
            let relation = Relation.allCases.first(where: { text[place...].hasPrefix($0.rawValue) })
        else { throw .noRelation(text) }
        let name = String(text[..<place])
        let limit = String(text[place...].dropFirst(relation.rawValue.count))
        let metric = try Metric(parsing: name)
        guard let (value, isShare) = metric.limit(limit) else {
            throw .wrongLimit(limit, metric: name, example: name + metric.example(after: relation))
        }
        self.text = text
        self.metric = metric
        self.relation = relation
        self.limit = value
        self.isShare = isShare
    }
}

extension Metric {
    /// The metrics with a fixed name.
    ///
    /// Percentiles are written as `p` and a number.
    private static let kinds: [(name: String, kind: Kind)] =
        Self.times.map { ($0.name, .latency($0.time)) } + [
            ("rate", .rate), ("count", .count), ("errors", .errors), ("unexpected", .unexpected),
            ("violations", .violations), ("unsent", .unsent), ("server-cpu", .serverCPU),
            ("server-memory", .serverMemory),
        ]

    private static let failures = Outcome.failureReasons.map { Outcome.failed($0).rawValue }

    private static let times: [(name: String, time: Time)] = [
        ("min", .min), ("mean", .mean), ("avg", .mean), ("med", .percentile(50)), ("max", .max),
    ]

    private static let service = "service"

    /// Examples of metrics, for error messages.
    static let names = ["p50", "p99.9"] + Self.kinds.map(\.name) + Outcome.answers.map(\.rawValue) + ["service.p99"]

    /// Parses a metric, for example `p99.9`, `check.p99`, `service.p99`, `check.service.p99`, `errors` or
    /// `unlock.valid`.
    init(parsing name: String) throws(ThresholdError) {
        var words = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var operation: Operation?
        if words.count > 1, let named = Operation(rawValue: words[0]) {
            operation = named
            words.removeFirst()
        }
        let rest = words.joined(separator: ".")
        self.operation = operation
        self.kind =
            if words.count > 1, words[0] == Self.service {
                .serviceTime(try Self.time(words.dropFirst().joined(separator: "."), in: name))
            } else {
                try Self.kind(rest, in: name)
            }
        guard operation == nil || !self.traits.isOfWholeRun else { throw .notByOperation(rest) }
    }

    private static func kind(_ text: String, in name: String) throws(ThresholdError) -> Kind {
        if let kind = Self.kinds.first(where: { $0.name == text })?.kind { return kind }
        if let percent = try Self.percent(text) { return .latency(.percentile(percent)) }
        if let outcome = Outcome(rawValue: text), !outcome.isFailure || Self.failures.contains(text) {
            return .outcome(outcome)
        }
        throw Self.unknown(name)
    }

    private static func time(_ text: String, in name: String) throws(ThresholdError) -> Time {
        if let time = Self.times.first(where: { $0.name == text })?.time { return time }
        if let percent = try Self.percent(text) { return .percentile(percent) }
        throw Self.unknown(name)
    }

    private static func percent(_ text: String) throws(ThresholdError) -> Double? {
        guard text.hasPrefix("p"), let percent = DecimalText.read(text.dropFirst()) else { return nil }
        guard percent > 0, percent <= 100 else { throw .wrongPercentile(text) }
        return percent
    }

    private static func unknown(_ name: String) -> ThresholdError {
        let plain = Self.kinds.map(\.name) + Outcome.answers.map(\.rawValue) + Self.failures
        let prefix = name.lastIndex(of: ".").map { String(name[...$0]) } ?? ""
        let isOperation = prefix.isEmpty || Operation(rawValue: String(prefix.dropLast())) != nil
        if isOperation, let nearest = NearestName.to(String(name.dropFirst(prefix.count)), among: plain) {
            return .unknownMetric(name, nearest: prefix + nearest)
        }
        let operations = Operation.allCases.map(\.rawValue) + [Self.service]
        if !isOperation, let nearest = NearestName.to(String(prefix.dropLast()), among: operations) {
            return .unknownMetric(name, nearest: "\(nearest).\(name.dropFirst(prefix.count))")
        }
        return .unknownMetric(name, nearest: nil)
    }
}

extension Metric {
    private static let timeUnits: [(name: String, microseconds: Double)] = [
        ("us", 1), ("µs", 1), ("μs", 1), ("ms", 1000), ("s", 1_000_000), ("m", 60_000_000),
    ]

    private static let byteUnits: [(name: String, bytes: Double)] = [
        ("B", 1), ("KiB", 1024), ("MiB", 1_048_576), ("GiB", 1_073_741_824), ("kB", 1000), ("MB", 1_000_000),
        ("GB", 1e9),
    ]

    /// Returns an example of a relation and limit that are valid for this metric.
    fileprivate func example(after relation: Threshold.Relation) -> String {
        switch self.traits.unit {
        case .time: "\(relation.rawValue)20ms"
        case .perSecond: "\(relation.rawValue)5000"
        case .bytes: "\(relation.rawValue)512MiB"
        case .count where self.traits.canBeShare: "\(relation.rawValue)10 or \(relation.rawValue)0.1%"
        case .count where self.kind == .violations: "==0"
        case .count: "\(relation.rawValue)1000"
        }
    }

    /// Returns the limit and whether it is a fraction, or nil if the text is not a number in the metric's unit.
    func limit(_ text: String) -> (value: Double, isShare: Bool)? {
        let digits = text.prefix { ($0.isASCII && $0.isNumber) || $0 == "." }
        let unit = text.dropFirst(digits.count)
        guard let number = DecimalText.read(digits) else { return nil }
        switch self.traits.unit {
        case .time: return Self.timeUnits.first { $0.name == unit }.map { (number * $0.microseconds, false) }
        case .bytes: return Self.byteUnits.first { $0.name == unit }.map { (number * $0.bytes, false) }
        case .perSecond: return unit.isEmpty || unit == "/s" ? (number, false) : nil
        case .count where unit == "%" && self.traits.canBeShare:
            return number <= 100 ? (number / 100, true) : nil
        case .count:
            // A fraction is probably a percentage without the percent sign. As a count, 0.001 would mean "none".
            return unit.isEmpty && number == number.rounded() ? (number, false) : nil
        }
    }

    /// Formats a value with its unit.
    func text(_ value: Double, asShare isShare: Bool) -> String {
        switch self.traits.unit {
        case .time: NumberText.time(microseconds: value)
        case .bytes: NumberText.bytes(value)
        case .perSecond: NumberText.rate(value)
        case .count: isShare ? NumberText.percent(value) : NumberText.count(Int(value))
        }
    }
}

/// Parses decimal numbers without a sign or exponent.
enum DecimalText {
    /// Parses a number; returns nil for any other text.
    static func read(_ text: some StringProtocol) -> Double? {
        guard let first = text.first, first.isASCII, first.isNumber,
            text.allSatisfy({ ($0.isASCII && $0.isNumber) || $0 == "." })
        else { return nil }
        return Double(String(text))
    }
}

/// An error in a ``Threshold`` on the command line.
package enum ThresholdError: Error, Equatable, Sendable, CustomStringConvertible {
    case noRelation(String)
    case unknownMetric(String, nearest: String?)
    case wrongLimit(String, metric: String, example: String)
    case wrongPercentile(String)
    case notByOperation(String)

    package var description: String {
        switch self {
        case .noRelation(let text):
            "'\(text)' has no comparison; write a metric, <, <=, >, >=, == or !=, and a limit, as in p99<20ms"
        case .unknownMetric(let name, let nearest?): "unknown metric '\(name)'; did you mean '\(nearest)'?"
        case .unknownMetric(let name, nil):
            "unknown metric '\(name)'; known are \(Metric.names.joined(separator: ", ")), each also with an "
                + "operation in front, as in check.p99"
        case .wrongLimit(let limit, let metric, let example):
            "'\(limit)' is not a limit for \(metric); write it as in \(example)"
        case .wrongPercentile(let name):
            "'\(name)' is not a percentile; the range is above 0 to 100, as in p99.9"
        case .notByOperation(let name): "'\(name)' is a metric of the whole run; write it without an operation"
        }
    }
}
