/// The parts of a page that only some runs have, and what a run was.
extension ReportPage {
    var sections: String {
        self.result.sections.map { section in
            var table = PageTable(section.title, isCaptionHidden: true, columns: section.columns)
            for row in section.rows { table.add(row) }
            let badge =
                switch section.verdict {
                case .passed: " <span class=\"badge good\">✓ passed</span>"
                case .failed: " <span class=\"badge bad\">✗ failed</span>"
                case .neutral: ""
                }
            let summary = section.summary.isEmpty ? "" : Markup.element("p", section.summary)
            return "<section><h2>\(Markup.escaped(section.title))\(badge)</h2>\n\(summary)\(table.html)</section>\n"
        }.joined()
    }

    var events: String {
        guard !self.result.markers.isEmpty else { return "" }
        var table = PageTable("What happened when", isCaptionHidden: true, columns: ["at", "what"], leftColumns: 2)
        for marker in self.result.markers { table.add(["\(Figure.fixed(marker.at.inSeconds, 1)) s", marker.text]) }
        return "<section><h2>Events</h2>\n<p>The dotted lines in the plots.</p>\n\(table.html)</section>\n"
    }

    var setting: String {
        var table = PageTable("Plan and machine", isCaptionHidden: true, columns: [], leftColumns: 2)
        for (name, value) in self.result.setting.rows {
            table.add(cells: [
                PageTable.Cell(text: name, style: "left"),
                PageTable.Cell(text: value, style: name == "command" ? "left code wrap" : "left wrap"),
            ])
        }
        for (name, text) in [("server's cost", self.totals.serverText), ("tool's cost", self.totals.toolText)] {
            guard let text else { continue }
            table.add(cells: [
                PageTable.Cell(text: name, style: "left"), PageTable.Cell(text: text, style: "left wrap"),
            ])
        }
        return "<section><h2>Plan and machine</h2>\n\(table.html)</section>\n"
    }

    /// The plots' figures for who cannot see plots, or wants to copy them.
    var behind: String {
        let points = TimeLine(self.result, limit: 120).points
        guard !points.isEmpty else { return "" }
        let columns = ["from", "to", "rate", "asked for", "errors", "p50", "p99", "max", "in flight", "connections"]
        var table = PageTable("The figures behind the plots", isCaptionHidden: true, columns: columns)
        for point in points {
            let times = point.latency.percentiles([50, 99])
            table.add([
                "\(Figure.fixed(point.start, 1)) s", "\(Figure.fixed(point.end, 1)) s",
                point.totals.rate.map(Figure.rate) ?? "–", point.plannedRate.map(Figure.rate) ?? "–",
                Figure.count(point.failures), Figure.time(times[0]), Figure.time(times[1]),
                Figure.time(point.latency.max),
                Figure.count(point.gauges.inFlight), Figure.count(point.gauges.connections),
            ])
        }
        return "<details><summary>The figures behind the plots</summary>\n\(table.html)</details>\n"
    }
}
