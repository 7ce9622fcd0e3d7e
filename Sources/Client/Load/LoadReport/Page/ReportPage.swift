internal import FoundationEssentials

/// A run as one HTML page that needs no network, no script and no other file.
struct ReportPage {
    let result: RunResult
    var totals: Totals { self.result.totals }

    init(_ result: RunResult) {
        self.result = result
    }

    /// Whatever a server's or a plan's text could still smuggle in: nothing runs, and nothing is fetched or sent.
    private static let policy = [
        "script-src", "connect-src", "img-src", "font-src", "media-src", "object-src", "frame-src", "form-action",
        "base-uri",
    ].map { "\($0) 'none'" }.joined(separator: "; ")

    var text: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="\(Self.policy)">
        <title>\(Markup.escaped("PIN load: \(self.verdict), \(self.result.setting.target)"))</title>
        <style>\(PageStyle.text)</style>
        </head>
        <body>
        <main>
        \(self.header)\(self.tiles)\(self.findings)\(self.thresholds)<div class="charts">
        \(Charts(self.result).html)</div>
        \(self.times)\(self.outcomes)\(self.sections)\(self.events)\(self.setting)\(self.behind)</main>
        </body>
        </html>

        """
    }

    private var verdict: String { self.result.isSuccess ? "passed" : "failed" }

    private var header: String {
        let setting = self.result.setting
        let start = Date(timeIntervalSince1970: Double(setting.startMilliseconds / 1000)).formatted(.iso8601)
        let measured = "\(Figure.fixed(self.totals.duration.inSeconds, 1)) s measured"
        let warmup = self.result.warmup.map { " after \(Figure.fixed($0.inSeconds, 1)) s of warm-up" } ?? ""
        let failures = self.result.failures.joined(separator: ", ")
        let mark = self.result.isSuccess ? "✓" : "✗"
        return """
            <header>
            <h1>PIN load</h1>
            <p class="verdict \(self.verdict)"><span aria-hidden="true">\(mark)</span> \(self.verdict)\
            \(failures.isEmpty ? "" : Markup.element("small", failures))</p>
            <p class="about">\(Markup.escaped("\(self.result.end.text) · \(measured)\(warmup) · \(setting.target)")) · \
            <time datetime="\(start)">\(start.map { $0 == "T" ? " " : $0 == "Z" ? " UTC" : String($0) }.joined())</time></p>
            </header>

            """
    }

    private var tiles: String {
        let all = self.totals.figures()
        let times = all.latency.percentiles([50, 99, 99.9])
        let errors = all.count > 0 ? Figure.percent(Double(all.failures) / Double(all.count)) : "–"
        var tiles: [(name: String, value: String, detail: String, isBad: Bool)] = [
            ("verdicts", self.totals.rate.map(Figure.rate) ?? "–", "\(Figure.count(all.answered)) in all", false),
            ("p50", Figure.time(times[0]), "latency \(self.result.latencyOrigin)", false),
            ("p99", Figure.time(times[1]), "p99.9 \(Figure.time(times[2]))", false),
            (
                "max", Figure.time(all.latency.max),
                all.latency.mean.map { "mean \(Figure.time(microseconds: $0))" } ?? "", false
            ),
            (
                "without a verdict", errors, "\(Figure.count(all.failures)) of \(Figure.count(all.count))",
                all.failures > 0
            ),
            (
                "impossible answers", Figure.count(self.totals.violations.count),
                "\(Figure.count(all.unexpected)) unexpected", self.totals.violations.count > 0
            ),
        ]
        if let cost = self.totals.serverCPUMicrosecondsPerOperation {
            let memory = self.totals.serverPeakResidentBytes.map { "at most \(Figure.bytes(Double($0)))" } ?? ""
            tiles.append(("server CPU per operation", Figure.time(microseconds: cost), memory, false))
        }
        if self.totals.unsent > 0 {
            tiles.append(("due and not sent", Figure.count(self.totals.unsent), "too many in flight", true))
        }
        let items = tiles.map { tile in
            "<div\(tile.isBad ? " class=\"bad\"" : "")>\(Markup.element("dt", tile.name))\(Markup.element("dd", tile.value))"
                + "\(Markup.element("dd", tile.detail, "class=\"detail\""))</div>\n"
        }
        return "<dl class=\"tiles\">\n\(items.joined())</dl>\n"
    }

    /// What a reader has to know before believing a figure.
    private var findings: String {
        var html = ""
        let violations = self.totals.violations
        if violations.count > 0 {
            let more = violations.count - violations.examples.count
            let items = violations.examples + (more > 0 ? ["and \(Figure.count(more)) more"] : [])
            html +=
                "<section class=\"callout bad\"><h2>Impossible answers</h2><p>No correct server gives these.</p><ul>"
                + items.map { Markup.element("li", $0) }.joined() + "</ul></section>\n"
        }
        if !self.result.remarks.isEmpty {
            html +=
                "<section class=\"callout\"><h2>Before believing these figures</h2><ul>"
                + self.result.remarks.map { Markup.element("li", $0) }.joined() + "</ul></section>\n"
        }
        return html
    }

    private var thresholds: String {
        guard !self.result.thresholds.isEmpty else { return "" }
        var table = PageTable("Thresholds", isCaptionHidden: true, columns: ["asked for", "seen", ""], leftColumns: 1)
        for threshold in self.result.thresholds {
            let isMet = threshold.verdict == .met
            table.add(cells: [
                PageTable.Cell(text: threshold.text, style: "left code"), PageTable.Cell(text: threshold.value),
                PageTable.Cell(
                    text: (isMet ? "✓ " : "✗ ") + threshold.verdict.text.lowercased(),
                    style: isMet ? "good" : "bad"
                ),
            ])
        }
        return "<section><h2>Thresholds</h2>\n\(table.html)</section>\n"
    }

    private var times: String {
        guard !self.totals.operations.isEmpty else { return "" }
        let columns = ["operation", "count", "rate"] + Distribution.columns
        let hasDueTimes = self.result.hasDueTimes
        var latency = PageTable(
            hasDueTimes
                ? "From the due time: what a person waits"
                : "From sending: a closed loop sends when the last answer has come",
            columns: columns
        )
        var service = PageTable("From sending: what the server takes", columns: columns)
        for (operation, figures) in self.totals.sortedOperations {
            let rate = self.totals.rate(of: operation).map(Figure.rate) ?? "–"
            let head = [operation.rawValue, Figure.count(figures.count), rate]
            latency.add(head + Distribution.values(figures.latency))
            service.add(head + Distribution.values(figures.serviceTime))
        }
        return "<section><h2>Times</h2>\n\(latency.html)\(hasDueTimes ? service.html : "")</section>\n"
    }

    private var outcomes: String {
        let operations = self.totals.sortedOperations
        guard !operations.isEmpty else { return "" }
        var table = PageTable(
            "How operations ended",
            isCaptionHidden: true,
            columns: ["outcome"] + operations.flatMap { [$0.operation.rawValue, "share"] }
        )
        for outcome in self.totals.sortedOutcomes {
            let cells = operations.flatMap { _, figures -> [PageTable.Cell] in
                guard let count = figures.outcomes[outcome] else {
                    return [PageTable.Cell(text: ""), PageTable.Cell(text: "")]
                }
                let share = Figure.percent(Double(count) / Double(figures.count))
                return [PageTable.Cell(text: Figure.count(count)), PageTable.Cell(text: share, style: "quiet")]
            }
            let style = outcome.isFailure ? "left bad" : "left"
            table.add(cells: [PageTable.Cell(text: outcome.rawValue, style: style)] + cells)
        }
        return "<section><h2>Verdicts and errors</h2>\n\(table.html)</section>\n"
    }
}
