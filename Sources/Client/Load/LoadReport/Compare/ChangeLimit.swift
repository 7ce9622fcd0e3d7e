/// By how much a figure may change from one run to the next: `p99>+10%` fails where it grew by more, `rate<-5%` where it fell by more.
package struct ChangeLimit: Sendable, Equatable {
    /// As it was written, without spaces.
    package let text: String
    let name: String
    let metric: Metric
    let isGrowth: Bool
    /// A share of the first run's figure, negative where it may fall.
    let limit: Double

    /// Whether the change is beyond the limit; nil where a run does not have the figure.
    ///
    /// A figure that was nothing and is something has grown beyond every limit.
    package func isExceeded(in comparison: Comparison) -> Bool? {
        let row = comparison.row(self.name, self.metric)
        guard let before = row.before, let after = row.after else { return nil }
        guard before != 0 else { return self.isGrowth && after > 0 }
        let edge = before * (1 + self.limit)
        // From 100 to 110 is 10 %, whatever a binary fraction makes of it.
        let slack = edge.magnitude * 1e-9
        return self.isGrowth ? after > edge + slack : after < edge - slack
    }
}

extension ChangeLimit {
    /// Reads `p99>+10%`; spaces do not matter.
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

/// Why a text is no limit of a change; the caller shows it as a mistake in the command line.
package enum ChangeLimitError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Neither `<` nor `>`.
    case noRelation(String)
    /// The figure is not one; what is said of a threshold holds.
    case metric(ThresholdError)
    /// Not a signed percentage behind `<` or `>`.
    case wrongLimit(String, name: String)

    package var description: String {
        switch self {
        case .noRelation(let text):
            "'\(text)' has no comparison; write a figure, < or >, and a change in percent: p99>+10%"
        case .metric(let error): error.description
        case .wrongLimit(let limit, let name):
            "'\(limit)' is no limit for the change of \(name); write a sign and a percentage: \(name)>+10% or \(name)<-5%"
        }
    }
}
