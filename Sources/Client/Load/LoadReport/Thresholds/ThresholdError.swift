/// An error in a ``Threshold`` on the command line.
package enum ThresholdError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text contains none of `<`, `<=`, `>`, `>=`, `==` and `!=`.
    case noRelation(String)
    case unknownMetric(String, nearest: String?)
    /// The limit is not a number in the metric's unit.
    case wrongLimit(String, metric: String, example: String)
    /// The percentile is not between 0 and 100.
    case wrongPercentile(String)
    /// The name of an operation precedes a metric that only applies to a whole run.
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
