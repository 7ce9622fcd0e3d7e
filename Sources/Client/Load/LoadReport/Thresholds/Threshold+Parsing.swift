internal import ConfigText

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
        guard operation == nil || !self.isOfWholeRun else { throw .notByOperation(rest) }
    }

    private var isOfWholeRun: Bool {
        switch self.kind {
        case .violations, .unsent, .serverCPU, .serverMemory: true
        case .latency, .serviceTime, .rate, .count, .errors, .unexpected, .outcome: false
        }
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
        switch self.unit {
        case .time: "\(relation.rawValue)20ms"
        case .perSecond: "\(relation.rawValue)5000"
        case .bytes: "\(relation.rawValue)512MiB"
        case .count where self.canBeShare: "\(relation.rawValue)10 or \(relation.rawValue)0.1%"
        case .count where self.kind == .violations: "==0"
        case .count: "\(relation.rawValue)1000"
        }
    }

    /// Returns the limit and whether it is a fraction, or nil if the text is not a number in the metric's unit.
    func limit(_ text: String) -> (value: Double, isShare: Bool)? {
        let digits = text.prefix { ($0.isASCII && $0.isNumber) || $0 == "." }
        let unit = text.dropFirst(digits.count)
        guard let number = DecimalText.read(digits) else { return nil }
        switch self.unit {
        case .time:
            return Self.timeUnits.first { $0.name == unit }.map { (number * $0.microseconds, false) }
        case .bytes:
            return Self.byteUnits.first { $0.name == unit }.map { (number * $0.bytes, false) }
        case .perSecond:
            return unit.isEmpty || unit == "/s" ? (number, false) : nil
        case .count where unit == "%" && self.canBeShare:
            return number <= 100 ? (number / 100, true) : nil
        case .count:
            // A fraction is probably a percentage without the percent sign. As a count, 0.001 would mean "none".
            return unit.isEmpty && number == number.rounded() ? (number, false) : nil
        }
    }

    /// Formats a value with its unit.
    func text(_ value: Double, asShare isShare: Bool) -> String {
        switch self.unit {
        case .time: NumberText.time(microseconds: value)
        case .bytes: NumberText.bytes(value)
        case .perSecond: NumberText.rate(value)
        case .count: isShare ? NumberText.percent(value) : NumberText.count(Int(value))
        }
    }
}

/// Parses decimal numbers without a sign or exponent.
enum DecimalText {
    /// Parses a number.
    ///
    /// Returns nil for any other text.
    static func read(_ text: some StringProtocol) -> Double? {
        guard let first = text.first, first.isASCII, first.isNumber,
            text.allSatisfy({ ($0.isASCII && $0.isNumber) || $0 == "." })
        else { return nil }
        return Double(String(text))
    }
}
