/// A limit on how much a metric may change between two runs.
///
/// `p99>+10%` fails if the metric increased by more than that, `rate<-5%` if it decreased by more.
package struct ChangeLimit: Sendable, Equatable {
    /// The limit as written, without spaces.
    package let text: String
    let name: String
    let metric: Metric
    let isGrowth: Bool
    /// The limit as a fraction of the first run's value.
    ///
    /// Negative for a decrease.
    let limit: Double

    /// Returns whether the change exceeds the limit, or nil if a run does not have the metric.
    ///
    /// Any increase from zero exceeds every limit.
    package func isExceeded(in comparison: Comparison) -> Bool? {
        let row = comparison.row(self.name, self.metric)
        guard let before = row.before, let after = row.after else { return nil }
        guard before != 0 else { return self.isGrowth && after > 0 }
        let bound = before * (1 + self.limit)
        // Going from 100 to 110 is 10%, even though 110 / 100 is not exactly 1.1 in binary.
        let slack = bound.magnitude * 1e-9
        return self.isGrowth ? after > bound + slack : after < bound - slack
    }
}

extension ChangeLimit {
    /// Parses a limit such as `p99>+10%`.
    ///
    /// Spaces are ignored.
    package init(parsing text: String) throws(ChangeLimitError) {
        let text = String(text.filter { !$0.isWhitespace })
        guard let place = text.firstIndex(where: { "<>=!".contains($0) }) else { throw .noRelation(text) }
        let name = String(text[..<place])
        let limit = text[place...].dropFirst()
        do throws(ThresholdError) {
            self.metric = try Metric(parsing: name)
        } catch {
            throw .metric(error)
        }
        let sign = limit.first.map(String.init) ?? ""
        guard text[place] == ">" || text[place] == "<", sign == "+" || sign == "-", limit.hasSuffix("%"),
            let percent = DecimalText.read(limit.dropFirst().dropLast())
        else { throw .wrongLimit(String(text[place...]), name: name) }
        self.text = text
        self.name = name
        self.isGrowth = text[place] == ">"
        self.limit = (sign == "+" ? percent : -percent) / 100
    }
}

/// An error in a ``ChangeLimit`` on the command line.
package enum ChangeLimitError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text contains neither `<` nor `>`.
    case noRelation(String)
    /// The name does not refer to a metric.
    case metric(ThresholdError)
    /// The text after `<` or `>` is not a signed percentage.
    case wrongLimit(String, name: String)

    package var description: String {
        switch self {
        case .noRelation(let text):
            "'\(text)' has no comparison; write a metric, < or >, and a signed percentage, as in p99>+10%"
        case .metric(let error): error.description
        case .wrongLimit(let limit, let name):
            "'\(limit)' is not a change of \(name); write a signed percentage, as in \(name)>+10% or \(name)<-5%"
        }
    }
}
