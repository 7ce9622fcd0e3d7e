/// A table that only some kinds of runs have, for example an attack.
package struct ReportSection: Sendable, Equatable, Codable {
    /// The result of the check reported in the section.
    package enum Verdict: String, Sendable, Codable {
        case passed
        /// The check failed, and so did the run.
        case failed
        /// The section does not check anything.
        case neutral
    }

    /// A table cell, with its unit.
    package enum Value: Hashable, Sendable {
        case text(String)
        case count(Int)
        case number(Double)
        /// A fraction, shown as a percentage.
        case share(Double)
        case micros(Int64)
    }

    package let title: String
    /// The result in one sentence, or an empty string if there is no result.
    package let summary: String
    package let columns: [String]
    /// The rows, each with one value per column.
    package let rows: [[Value]]
    package let verdict: Verdict

    package init(
        title: String,
        summary: String = "",
        columns: [String],
        rows: [[Value]],
        verdict: Verdict = .neutral
    ) {
        self.title = title
        self.summary = summary
        self.columns = columns
        self.rows = rows
        self.verdict = verdict
    }

    /// Returns the second value in the row with this name, for a table whose first column holds names.
    package subscript(name: String) -> Value? {
        self.rows.first { $0.count > 1 && $0[0] == .text(name) }?[1]
    }
}

extension ReportSection.Value: Codable {
    private enum Key: String, CodingKey {
        case text, count, number, share, micros
    }

    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .text(let text): try fields.encode(text, forKey: .text)
        case .count(let count): try fields.encode(count, forKey: .count)
        case .number(let number): try fields.encode(number, forKey: .number)
        case .share(let share): try fields.encode(share, forKey: .share)
        case .micros(let micros): try fields.encode(micros, forKey: .micros)
        }
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Key.self)
        switch fields.allKeys.first {
        case .text: self = .text(try fields.decode(String.self, forKey: .text))
        case .count: self = .count(try fields.decode(Int.self, forKey: .count))
        case .number: self = .number(try fields.decode(Double.self, forKey: .number))
        case .share: self = .share(try fields.decode(Double.self, forKey: .share))
        case .micros: self = .micros(try fields.decode(Int64.self, forKey: .micros))
        case nil:
            let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no known unit")
            throw DecodingError.dataCorrupted(context)
        }
    }
}
