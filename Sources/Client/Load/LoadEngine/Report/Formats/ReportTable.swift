/// A table for the terminal and the HTML page.
///
/// The template reads the stored properties by name.
struct ReportTable {
    /// A cell, with its text and the CSS class used on the page.
    struct Cell: ExpressibleByStringInterpolation {
        let text: String
        var style = ""

        init(_ text: String, style: String = "") {
            self.text = text
            self.style = style
        }

        init(stringLiteral text: String) { self.init(text) }
    }

    struct Row {
        let head: Cell
        let cells: [Cell]
    }

    let caption: String
    /// Whether to hide the caption because a heading on the page already says the same.
    var isCaptionHidden = true
    let columns: [String]
    /// Whether every column is left-aligned; otherwise, only the first one is.
    var isLeft = false
    private(set) var rows: [Row] = []

    init(_ caption: String, columns: [String], isLeft: Bool = false, isCaptionHidden: Bool = true) {
        self.caption = caption
        self.columns = columns
        self.isLeft = isLeft
        self.isCaptionHidden = isCaptionHidden
    }

    mutating func add(_ head: Cell, _ cells: [Cell]) { self.rows.append(Row(head: head, cells: cells)) }

    mutating func add(_ head: Cell, _ cells: [String]) { self.add(head, cells.map { Cell($0) }) }

    /// The lines for a terminal, with aligned columns and no trailing spaces.
    var lines: [String] {
        let head = self.columns.isEmpty ? [] : [self.columns]
        let rows = head + self.rows.map { [$0.head.text] + $0.cells.map(\.text) }
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0 }
        return rows.map { row in
            let fields = row.enumerated().map { column, field in
                let padding = String(repeating: " ", count: widths[column] - field.count)
                return column == 0 || self.isLeft ? field + padding : padding + field
            }
            let line = fields.joined(separator: "  ")
            return line.lastIndex { $0 != " " }.map { String(line[...$0]) } ?? ""
        }
    }
}

/// A heading with text, items and tables, for the terminal and the HTML page.
struct ReportPart {
    let heading: String
    /// Either `passed` or `failed`; also used as a CSS class.
    var verdict: String?
    /// A CSS class used on the page.
    var partStyle: String?
    var sentences: [String] = []
    var items: [String] = []
    var tables: [ReportTable] = []

    var lines: [String] {
        let verdict = self.verdict.map { $0 == "failed" ? ": FAILED" : ": \($0)" } ?? ""
        let tables = self.tables.flatMap { ($0.isCaptionHidden ? [] : ["\($0.caption):"]) + $0.lines }
        return [self.heading + verdict]
            + (self.sentences + self.items + tables).map { "  \($0)" }
    }
}

/// The parts of a run's report, for the terminal and the HTML page.
extension RunResult {
    /// Violations and notes that a reader must see before the measurements.
    var warnings: [ReportPart] {
        let violations = self.totals.violations
        let more = violations.count - violations.examples.count
        let parts = [
            ReportPart(
                heading: "Violations",
                partStyle: "callout bad",
                sentences: ["A correct server never gives these answers."],
                items: violations.examples + (more > 0 ? ["and \(NumberText.count(more)) more"] : [])
            ),
            ReportPart(heading: "Notes on validity", partStyle: "callout", items: self.remarks),
        ]
        return parts.filter { !$0.items.isEmpty }
    }

    /// The thresholds, times, outcomes, sections and settings.
    var parts: [ReportPart] {
        let hasOperations = !self.totals.operations.isEmpty
        return (self.thresholds.isEmpty ? [] : [self.thresholdPart])
            + (hasOperations ? [self.timesPart, self.outcomesPart] : []) + self.sections.map(ReportPart.init)
            + [self.settingPart]
    }

    private var thresholdPart: ReportPart {
        var table = ReportTable("Thresholds", columns: ["threshold", "measured", "result"], isLeft: true)
        for threshold in self.thresholds {
            let style = threshold.verdict == .met ? "good" : "bad"
            table.add(
                ReportTable.Cell(threshold.text, style: "code"),
                [ReportTable.Cell(threshold.value), ReportTable.Cell(threshold.verdict.text, style: style)]
            )
        }
        return ReportPart(heading: "Thresholds", tables: [table])
    }

    private var timesPart: ReportPart {
        let columns = ["operation", "count", "rate", "p50", "p90", "p99", "p99.9", "max", "mean"]
        let hasDueTimes = self.hasDueTimes
        var latency = ReportTable("Latency \(self.latencyOrigin)", columns: columns, isCaptionHidden: false)
        var service = ReportTable("Service time from sending", columns: columns, isCaptionHidden: false)
        for (operation, figures) in self.totals.sortedOperations {
            let rate = self.totals.rate(of: operation).map(NumberText.rate) ?? "–"
            func cells(_ times: Latencies) -> [String] {
                [NumberText.count(figures.count), rate]
                    + [50, 90, 99, 99.9].map { NumberText.time(times.percentile($0)) }
                    + [NumberText.time(times.max), times.mean.map { NumberText.time(microseconds: $0) } ?? "–"]
            }
            latency.add(ReportTable.Cell(operation.rawValue), cells(figures.latency))
            service.add(ReportTable.Cell(operation.rawValue), cells(figures.serviceTime))
        }
        return ReportPart(heading: "Times", tables: hasDueTimes ? [latency, service] : [latency])
    }

    private var outcomesPart: ReportPart {
        let operations = self.totals.sortedOperations
        let outcomes = operations.reduce(into: Set<Outcome>()) { $0.formUnion($1.figures.outcomes.keys) }
        var table = ReportTable(
            "Outcomes",
            columns: ["outcome"] + operations.flatMap { [$0.operation.rawValue, "share"] }
        )
        for outcome in outcomes.sorted() {
            let cells = operations.flatMap { _, figures -> [ReportTable.Cell] in
                guard let count = figures.outcomes[outcome] else { return ["", ""] }
                let share = NumberText.percent(Double(count) / Double(figures.count))
                return [ReportTable.Cell(NumberText.count(count)), ReportTable.Cell(share, style: "quiet")]
            }
            table.add(ReportTable.Cell(outcome.rawValue, style: outcome.isFailure ? "bad" : ""), cells)
        }
        return ReportPart(heading: "Outcomes", tables: [table])
    }

    private var settingPart: ReportPart {
        var table = ReportTable("Plan and machine", columns: [], isLeft: true)
        let costs = [("server CPU", self.totals.serverText), ("tool CPU", self.totals.toolText)]
        for (name, value) in self.setting.rows + costs.compactMap({ name, text in text.map { (name, $0) } }) {
            let style = name == "command" ? "code wrap" : "wrap"
            table.add(ReportTable.Cell(name), [ReportTable.Cell(value, style: style)])
        }
        return ReportPart(heading: "Plan and machine", tables: [table])
    }
}

extension ReportPart {
    fileprivate init(_ section: ReportSection) {
        var table = ReportTable(section.title, columns: section.columns)
        for row in section.rows {
            let texts = row.map(\.displayText)
            table.add(ReportTable.Cell(texts.first ?? ""), Array(texts.dropFirst()))
        }
        self.init(
            heading: section.title,
            verdict: section.verdict == .neutral ? nil : section.verdict.rawValue,
            sentences: section.summary.isEmpty ? [] : [section.summary],
            tables: [table]
        )
    }
}

extension ReportSection.Value {
    fileprivate var displayText: String {
        switch self {
        case .text(let text): text
        case .count(let count): NumberText.count(count)
        case .number(let number): NumberText.fixed(number, number >= 0.1 || number == 0 ? 1 : 6)
        case .share(let share): NumberText.percent(share)
        case .micros(let micros): NumberText.time(microseconds: Double(micros))
        }
    }
}

extension ThresholdResult.Verdict {
    fileprivate var text: String {
        switch self {
        case .met: "met"
        case .failed: "FAILED"
        case .unmeasured: "NOT MEASURED"
        }
    }
}

extension Totals {
    /// The operations of the run, in the order used by every report.
    var sortedOperations: [(operation: Operation, figures: OperationFigures)] {
        self.operations.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The resources used by the server, or nil if unknown.
    var serverText: String? {
        let parts = [
            self.serverCPUMicrosecondsPerOperation.map { "\(NumberText.time(microseconds: $0)) per operation" },
            self.verificationText, Self.coresText(self.serverCores),
            self.serverPeakResidentBytes.map { "at most \(NumberText.bytes(Double($0))) of memory" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The CPU time used by pin-load, or nil if unknown.
    var toolText: String? {
        guard let seconds = self.toolCPUSeconds, self.count > 0, let cores = Self.coresText(self.toolCores) else {
            return nil
        }
        return "\(NumberText.time(microseconds: seconds * 1_000_000 / Double(self.count))) per operation, \(cores)"
    }

    private static func coresText(_ cores: Double?) -> String? { cores.map { "\(NumberText.fixed($0, 2)) cores busy" } }

    private var verificationText: String? {
        guard let cost = self.verificationMicroseconds, let share = self.verificationShare else { return nil }
        return "\(NumberText.fixed(share, 2)) of it for one separate P-256 verification "
            + "(\(NumberText.time(microseconds: cost)))"
    }
}

/// A table that only some kinds of runs have, for example an attack.
package struct ReportSection: Sendable, Equatable, Codable {
    /// The result of the check reported in the section.
    enum Verdict: String, Sendable, Codable {
        case passed
        /// The check failed, and so did the run.
        case failed
        /// The section does not check anything.
        case neutral
    }

    /// A table cell, with its unit.
    enum Value: Hashable, Sendable {
        case text(String)
        case count(Int)
        case number(Double)
        /// A fraction, shown as a percentage.
        case share(Double)
        case micros(Int64)
    }

    let title: String
    /// The result in one sentence, or an empty string if there is no result.
    var summary = ""
    let columns: [String]
    /// The rows, each with one value per column.
    let rows: [[Value]]
    var verdict: Verdict = .neutral

    /// Returns the second value in the row with this name, for a table whose first column holds names.
    subscript(name: String) -> Value? {
        self.rows.first { $0.count > 1 && $0[0] == .text(name) }?[1]
    }
}

extension ReportSection.Value: Codable {
    private enum Key: String, CodingKey {
        case text, count, number, share, micros
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Key.self)
        switch self {
        case .text(let text): try fields.encode(text, forKey: .text)
        case .count(let count): try fields.encode(count, forKey: .count)
        case .number(let number): try fields.encode(number, forKey: .number)
        case .share(let share): try fields.encode(share, forKey: .share)
        case .micros(let micros): try fields.encode(micros, forKey: .micros)
        }
    }

    init(from decoder: any Decoder) throws {
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
