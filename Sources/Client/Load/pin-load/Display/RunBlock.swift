internal import HostSystem
internal import LoadPlan
internal import LoadReport
internal import LoadEngine

/// The small display on a terminal: some lines that are drawn anew in their place.
///
/// Below what the shell has shown, not on a screen of its own: it stays there when the run is over.
struct RunBlock {
    private let plan: LoadPlan
    private let hasColor: Bool
    private let hasUnicode: Bool
    /// Lines on the terminal that are to be drawn over.
    private var drawn = 0

    init(_ plan: LoadPlan, environment value: (String) -> String?) {
        let locale = value("LC_ALL") ?? value("LC_CTYPE") ?? value("LANG") ?? ""
        self.plan = plan
        self.hasColor = value("NO_COLOR") == nil
        self.hasUnicode = locale.lowercased().contains("utf-8") || locale.lowercased().contains("utf8")
    }

    private enum Weight {
        case plain
        case dim
        case bad
    }

    private struct Line {
        var name: String
        var text: String
        var weight = Weight.plain
    }

    /// What to write so that the terminal shows the moment.
    mutating func draw(_ moment: RunSnapshot, columns: Int, isStopping: Bool) -> String {
        let lines = self.lines(moment, columns: columns, isStopping: isStopping)
        let text = self.home + lines.map { self.text($0, columns: columns) + "\n" }.joined() + "\u{1B}[J"
        self.drawn = lines.count
        return text
    }

    /// To the block's first row; what a narrower terminal has broken into several rows is not counted, and stays.
    private var home: String { self.drawn > 0 ? "\u{1B}[\(self.drawn)A\r" : "\r" }

    private func lines(_ moment: RunSnapshot, columns: Int, isStopping: Bool) -> [Line] {
        let words = RunWords(plan: self.plan, moment: moment)
        let totals = moment.totals
        let errors = totals.figures().failures
        var lines = [
            Line(name: "", text: self.head(words, moment, isStopping: isStopping), weight: .dim),
            Line(name: "", text: self.bar(moment, columns: columns), weight: .dim),
            Line(name: "rate", text: "\(words.rate) now  \(words.meanRate) in all  \(words.connections)"),
            Line(name: "latency", text: RunWords.latency(moment.interval.totals) + "  (this second)"),
            Line(name: "", text: RunWords.latency(totals) + "  (in all)"),
            Line(name: "verdicts", text: RunWords.verdicts(totals)),
            Line(name: "errors", text: RunWords.errors(totals), weight: errors > 0 ? .bad : .plain),
        ]
        if !words.troubles.isEmpty {
            lines.append(Line(name: "", text: words.troubles.joined(separator: "  "), weight: .bad))
        }
        if !words.processes.isEmpty { lines.append(Line(name: "machine", text: words.processes)) }
        if !moment.failing.isEmpty {
            lines.append(Line(name: "failing", text: moment.failing.joined(separator: "  "), weight: .bad))
        }
        return lines
    }

    private func head(_ words: RunWords, _ moment: RunSnapshot, isStopping: Bool) -> String {
        if isStopping { return "stopping: what is under way is waited for (Ctrl-C again: ends at once)" }
        let load = self.plan.isOpen ? "\(CountText.write(moment.load.rounded()))/s wanted" : "closed loop"
        return [words.stage, load, words.time].filter { !$0.isEmpty }.joined(separator: self.hasUnicode ? " · " : " - ")
    }

    private func bar(_ moment: RunSnapshot, columns: Int) -> String {
        let width = max(10, min(columns, 80) - 1)
        let share = min(1, max(0, moment.interval.end / moment.duration))
        let full = Int((share * Double(width)).rounded())
        let (done, rest) = self.hasUnicode ? ("━", "╌") : ("=", "-")
        return String(repeating: done, count: full) + String(repeating: rest, count: width - full)
    }

    private func text(_ line: Line, columns: Int) -> String {
        let name = line.name.isEmpty && line.weight == .dim ? "" : Self.padded(line.name, to: 10)
        let text = self.plainText(name + line.text).prefix(max(1, columns - 1))
        let code: String
        switch line.weight {
        case .plain: code = ""
        case .dim: code = "2"
        case .bad: code = self.hasColor ? "1;31" : "1"
        }
        return (code.isEmpty ? String(text) : "\u{1B}[\(code)m\(text)\u{1B}[0m") + "\u{1B}[K"
    }

    private func plainText(_ text: String) -> String {
        guard !self.hasUnicode else { return text }
        return text.map { character in
            switch character {
            case "µ": "u"
            case "–", "−", "·": "-"
            case "…": "..."
            case _: character.isASCII ? String(character) : "?"
            }
        }.joined()
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
