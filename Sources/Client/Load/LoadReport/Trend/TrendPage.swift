internal import FoundationEssentials
internal import Mustache

extension Trend {
    /// The trend as a single HTML page with a plot for each metric, without scripts or network access.
    package var html: String {
        let values = Values(
            policy: LoadReportPage.policy,
            summary: self.hasRegression ? "failed" : "passed",
            series: self.series.enumerated().map { place, series in
                Section(charts: series.charts(prefix: "s\(place)"), part: series.part)
            }
        )
        return LoadReportPage.templates.render(values, withTemplate: "trend") ?? ""
    }

    /// The values that the template reads by name.
    private struct Values {
        let policy: String
        let styleSheet = LoadReportStyle.sheet
        let frame = Chart.frame
        let summary: String
        let series: [Section]
    }

    private struct Section {
        let charts: [Chart]
        let part: ReportPart
    }

    /// The page's HTML.
    static let template = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="{{policy}}">
        <title>PIN load: trend, {{summary}}</title>
        <style>
        {{{styleSheet}}}
        </style>
        </head>
        <body>
        <main>
        <header>
        <h1>PIN load: trend</h1>
        <p class="verdict {{summary}}">{{summary}}</p>
        <p class="about">Newest run of each plan, compared with the run before it</p>
        </header>
        {{#series}}
        {{#part}}
        {{> part}}
        {{/part}}
        <div class="charts">
        {{#charts}}
        {{> chart}}
        {{/charts}}
        </div>
        {{/series}}
        </main>
        </body>
        </html>

        """
}

extension Trend.Series {
    fileprivate typealias Points = [(x: Double, y: Double?)]

    /// Creates the plots, with the number of the run on the x axis.
    ///
    /// A single run has no plots.
    fileprivate func charts(prefix: String) -> [Chart] {
        guard self.runs.count > 1 else { return [] }
        let rate = self.points { $0.rate }
        let p50 = self.points { $0.figures().latency.percentile(50).map { Double($0) } }
        let p99 = self.points { $0.figures().latency.percentile(99).map { Double($0) } }
        let cost = self.points { $0.serverCPUMicrosecondsPerOperation }
        var charts: [Chart] = []
        if let highest = Self.highest(rate) {
            var chart = self.chart("\(prefix)-rate", "Rate, per second", Scale.linear(upTo: highest)) {
                NumberText.count(Int($0))
            }
            chart.add("verdicts", "a", rate)
            charts.append(chart)
        }
        if let highest = Self.highest(p99), let lowest = p50.compactMap(\.y).min() {
            var chart = self.chart("\(prefix)-latency", "Latency", Scale.logarithmic(from: lowest, to: highest)) {
                NumberText.time(microseconds: $0)
            }
            chart.add("p99", "b", p99)
            chart.add("p50", "a", p50)
            charts.append(chart)
        }
        if let highest = Self.highest(cost) {
            var chart = self.chart("\(prefix)-cpu", "Server CPU per operation", Scale.linear(upTo: highest)) {
                NumberText.time(microseconds: $0)
            }
            chart.add("server CPU", "c", cost)
            charts.append(chart)
        }
        return charts
    }

    private func chart(_ id: String, _ title: String, _ y: Scale, _ label: (Double) -> String) -> Chart {
        let step = max(1, (self.runs.count / 6))
        let x = Scale(
            lower: 1,
            upper: Double(self.runs.count),
            isLogarithmic: false,
            ticks: stride(from: 1, through: self.runs.count, by: step).map(Double.init)
        )
        return Chart(
            id: id,
            title: title,
            summary: "Over the runs 1 to \(self.runs.count) of the table above.",
            x: x,
            xLabel: { "\(Int($0))" },
            y: y,
            yLabel: label
        )
    }

    private func points(_ value: (Totals) -> Double?) -> Points {
        self.runs.enumerated().map { (x: Double($0 + 1), y: value($1.result.totals)) }
    }

    private static func highest(_ points: Points) -> Double? { points.compactMap(\.y).max() }
}

extension RunResult {
    /// The start time in UTC, for display.
    var startText: String {
        Date(timeIntervalSince1970: Double(self.setting.startMilliseconds / 1000)).formatted(.iso8601)
            .replacing("T", with: " ").replacing("Z", with: " UTC")
    }
}
