/// Why a text is no threshold; each says what was meant, and the caller shows it as a mistake in the command line.
package enum ThresholdError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No `<`, `<=`, `>`, `>=`, `==` or `!=`: the caller shows an example.
    case noRelation(String)
    /// No figure has this name; the nearest is named if one is near.
    case unknownMetric(String, nearest: String?)
    /// The limit is not a number in the figure's unit; the caller shows one that is.
    case wrongLimit(String, metric: String, example: String)
    /// A percentile outside of 0 to 100.
    case wrongPercentile(String)
    /// The figure belongs to the whole run, not to one kind of operation.
    case notByOperation(String)

    package var description: String {
        switch self {
        case .noRelation(let text):
            "'\(text)' has no comparison; write a figure, <, <=, >, >=, == or !=, and a limit: p99<20ms"
        case .unknownMetric(let name, let nearest?): "there is no figure '\(name)'; did you mean '\(nearest)'?"
        case .unknownMetric(let name, nil):
            "there is no figure '\(name)'; there are \(Metric.names.joined(separator: ", ")), with a kind of operation in "
                + "front if need be: check.p99"
        case .wrongLimit(let limit, let metric, let example):
            "'\(limit)' is no limit for \(metric); write it like \(example)"
        case .wrongPercentile(let name):
            "'\(name)' is no percentile; they lie above p0 and up to p100, p99.9 for instance"
        case .notByOperation(let name): "'\(name)' is a figure of the whole run; write it without the kind of operation"
        }
    }
}
